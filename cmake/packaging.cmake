# install and CPack
