# Completion of inturn for bash: source <(inturn completion bash)
#
# It asks the inturn that is being typed, and so never knows more or less than that.

_inturn() {
    local -a words=() at=()
    local IFS=$' \t\n' i word glue=
    # bash splits at = : and @, too: put together again what was typed as one word.
    for ((i = 0; i <= COMP_CWORD; i++)); do
        word=${COMP_WORDS[i]}
        if ((i > 1)) && [[ -n $glue || $word == [=:@]* ]]; then
            words[${#words[@]} - 1]+=$word
        else
            words+=("$word") at+=("$i")
        fi
        glue=
        [[ $word == *[=:@] && $word != *[!=:@]* ]] && glue=1
    done
    local cur=${words[${#words[@]} - 1]} quote=
    case $cur in [\'\"]*) quote=${cur:0:1} cur=${cur:1} ;; esac
    [[ -n $quote ]] || cur=${cur//\\/}
    words[${#words[@]} - 1]=$cur

    local program=${words[0]} what lead line
    type -P -- "$program" >/dev/null || program=inturn # an alias, or ~/bin/inturn
    local -a found=()
    {
        IFS=$'\t' read -r what lead
        while IFS= read -r line; do found+=("${line%%$'\t'*}"); done
    } < <("$program" __complete -- "${words[@]:1}" 2>/dev/null)

    COMPREPLY=()
    case $what in
        words)
            # bash replaces only what stands behind the last of these characters.
            local stays=${cur%"${cur##*[=:@]}"}
            [[ $COMP_WORDBREAKS == *[=:@]* ]] || stays=
            for word in "${found[@]}"; do
                word=$lead$word
                [[ -n $stays && $word == "$stays"* ]] && word=${word#"$stays"}
                [[ -n $quote ]] || printf -v word %q "$word"
                COMPREPLY+=("$word")
            done
            if ((${#COMPREPLY[@]} == 1)) && [[ ${COMPREPLY[0]} == *= ]]; then compopt -o nospace 2>/dev/null; fi
            ;;
        files | directories)
            compopt -o filenames 2>/dev/null
            local kind=-f
            [[ $what == directories ]] && kind=-d
            while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen "$kind" -- "${cur#"$lead"}")
            ;;
        command) _inturn_command "${at[lead + 1]}" ;;
    esac
}

# Complete what begins at that word as if it were alone on the line.
_inturn_command() {
    local helper
    for helper in _comp_command_offset _command_offset; do # of the package bash-completion
        if declare -F "$helper" >/dev/null; then
            "$helper" "$1"
            return
        fi
    done
    local line=$COMP_LINE i
    for ((i = 0; i < $1; i++)); do line=${line#*"${COMP_WORDS[i]}"}; done
    line=${line#"${line%%[![:blank:]]*}"}
    local COMP_POINT=$((COMP_POINT - ${#COMP_LINE} + ${#line})) COMP_LINE=$line
    local -a words=("${COMP_WORDS[@]:$1}")
    local -a COMP_WORDS=("${words[@]}")
    local COMP_CWORD=$((COMP_CWORD - $1)) kind=-f
    local cur=${COMP_WORDS[COMP_CWORD]} spec
    if ((COMP_CWORD > 0)); then
        spec=$(complete -p "${COMP_WORDS[0]##*/}" 2>/dev/null)
        if [[ $spec =~ \ -F\ ([^ ]+) ]]; then
            "${BASH_REMATCH[1]}" "${COMP_WORDS[0]}" "$cur" "${COMP_WORDS[COMP_CWORD - 1]}"
            return
        fi
    elif [[ $cur != */* ]]; then
        kind=-c
    fi
    [[ $kind == -f ]] && compopt -o filenames 2>/dev/null
    while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen "$kind" -- "$cur")
}

complete -F _inturn inturn
