"""A check for pull requests and merge requests: does the change make training wait longer for data?

    python -m stallcast.check run --base DIR --head DIR --command 'python train.py'    measures, compares, decides
    python -m stallcast.check post                                                     writes the result as one comment

    runs      runs the workload in both folders, in turn, on this machine
    verdict   what `stallcast diff` says of each round, and of all rounds together
    page      the result as Markdown, for the job summary and the comment
    comment   one comment, found again by its marker, through services
    services  the comment APIs of GitHub and GitLab

The two commands are apart so that the training code runs in a step that holds no token. How to use them:
samples/ci/README.md.
"""
