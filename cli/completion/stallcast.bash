# Completion of stallcast for bash. Commands, options and keys are read off the tool's own help, so that they are those
# of the version that is installed.

_stallcast_commands() {
  "$1" --help 2>/dev/null | awk '/^[A-Z].*:$/ { in_list = !/^Options:/ && !/^Positionals:/ } in_list && /^  [a-z]/ { print $1 }'
}

_stallcast_options() {
  "$1" "$2" --help 2>/dev/null | awk '/^[A-Z].*:$/ { in_list = /^Options:/ } in_list' | grep -oE -- '(^  |,)--?[a-z][a-z-]*' | tr -d ' ,'
}

_stallcast_keys() {
  "$1" "$2" --help 2>/dev/null | awk '/^Keys/ { on = 1; sub(/^[^:]*:/, "") } /^[^ K]/ { on = 0 } on' | tr -s ' ' '\n' | grep .
}

_stallcast() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} tool=${COMP_WORDS[0]} at command=
  COMPREPLY=()
  for ((at = 1; at < COMP_CWORD; ++at)); do
    if [[ ${COMP_WORDS[at]} == -- ]]; then # from here on it is the wrapped command
      if declare -F _command_offset > /dev/null; then
        _command_offset $((at + 1))
      elif ((COMP_CWORD == at + 1)); then
        mapfile -t COMPREPLY < <(compgen -c -- "$current")
      else
        mapfile -t COMPREPLY < <(compgen -f -- "$current")
      fi
      return
    fi
    [[ -z $command && ${COMP_WORDS[at]} != -* ]] && command=${COMP_WORDS[at]}
  done
  local words=
  case $command,$previous in
    ,*) words="$(_stallcast_commands "$tool") --help --version" ;;
    diff,-f | diff,--format) words="text json md html" ;;
    plan,-f | plan,--format) words="text json html" ;;
    *,-f | *,--format) words="text json html md csv perfetto openmetrics" ;;
    *,--phases) words="as_is cold cached synthetic supply cold,cached,synthetic,supply" ;;
    *,--evict) words="own all none" ;;
    *,--engine) words="threads io_uring" ;;
    *,--strategy) words="interleave separate" ;;
    *,--emulate) words="storage_bandwidth= storage_latency= storage_iops= cache= cache_policy= cpus=" ;;
    *,--emulate-with) words="interposer kernel" ;;
    *,--set | *,--sweep)
      words=$(_stallcast_keys "$tool" "$command" | sed 's/$/=/')
      compopt -o nospace 2>/dev/null
      ;;
    *) [[ $current == -* ]] && words=$(_stallcast_options "$tool" "$command") ;;
  esac
  if [[ -n $words ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
  else
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
  fi
}

complete -F _stallcast stallcast
