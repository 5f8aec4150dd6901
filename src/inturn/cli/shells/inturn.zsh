#compdef inturn
# Completion of inturn for zsh: source <(inturn completion zsh), behind compinit; or its output as _inturn in $fpath
#
# It asks the inturn that is being typed, and so never knows more or less than that.

_inturn() {
    local -a answer described
    local what lead line tab=$'\t'
    answer=("${(@f)$("${(Q)words[1]}" __complete -- "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}")
    what=${answer[1]%%$tab*} lead=${answer[1]#*$tab}
    shift answer
    case $what in
        words)
            [[ -n $lead ]] && compset -P "$lead"
            for line in "${answer[@]}"; do
                described+=("${${${line%%$tab*}//\\/\\\\}//:/\\:}${${line#*$tab}:+:${line#*$tab}}")
            done
            local -a more
            ((${#answer} == 1)) && [[ ${answer[1]%%$tab*} == *= ]] && more=(-S '')
            # -V: in the order of the answer, the newest job first.
            ((${#described})) && _describe -V 'inturn' described "${more[@]}"
            ;;
        files | directories)
            [[ -n $lead ]] && compset -P "$lead"
            if [[ $what == files ]]; then _files; else _files -/; fi
            ;;
        command)
            # Complete what begins at that word as if it were alone on the line.
            words=("${(@)words[lead + 2,-1]}")
            ((CURRENT -= lead + 1))
            _normal
            ;;
    esac
}

if [[ ${funcstack[1]} == _inturn ]]; then _inturn "$@"; else compdef _inturn inturn; fi
