# Functions of the scripts that make a virtual environment; they source it in the checkout's root.
#
# An environment is kept for as long as what it was made of is the same: a digest, as in a clone or after a change of branch every file is new.
# PYTHON names the interpreter (default python3; 3.11 or newer).

# made_of SCRIPT [WORD...]: what the environment is made of, in a line.
made_of() (
    sum=$(cat pyproject.toml scripts/environment.sh "$1" | cksum)
    shift
    echo "$sum $*"
)

# new_pip VENV: dependency groups need pip 25.1.
new_pip() {
    "$1/bin/python" -c 'import pip, sys; sys.exit([int(part) for part in pip.__version__.split(".")[:2]] < [25, 1])' ||
        "$1/bin/python" -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
}

# environment VENV SCRIPT ARGUMENT...: make VENV, or bring it up to date, by `pip install ARGUMENT...`. Each SCRIPT keeps a stamp of its own.
environment() (
    venv=$1 script=$2
    shift 2
    stamp=$venv/.complete-$(basename "$script")
    wanted=$(made_of "$script" "$@")
    if [ -x "$venv/bin/python" ] && [ -e "$stamp" ] && [ "$(cat "$stamp")" = "$wanted" ]; then
        exit 0
    fi
    rm -f "$stamp" # it is written last, so an installation that is cut short is taken up again
    [ -x "$venv/bin/python" ] || "${PYTHON:-python3}" -m venv "$venv"
    case " $* " in *" --group "*) new_pip "$venv" ;; esac
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check "$@"
    echo "$wanted" >"$stamp"
)
