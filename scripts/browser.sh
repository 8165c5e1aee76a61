#!/usr/bin/env bash
# Set up an environment (scripts/extras.sh) that can look at the report page in a real, headless Chromium.
#
#   scripts/browser.sh [VENV]             default VENV: .venv-extras
#   VENV/bin/python -m pytest -m browser tests/browser
#
# Nothing is installed outside VENV and no root is needed. The browser is, in this order: the one CHROMIUM names; one on
# the PATH; Debian's package with the libraries it lacks, fetched by apt and unpacked below VENV (about 100 MB to fetch);
# Playwright's own build, where its server can be reached. Where npm is installed, it also gets axe-core, which finds what
# keeps people from using a page; without it, those tests are skipped. PYTHON names the interpreter (default python3; 3.11 or newer).
set -euo pipefail

if [[ ${1:-} == -h || ${1:-} == --help ]]; then
    sed -n '2,/^set /{/^#/!d;s/^# \{0,1\}//;p}' "$0"
    exit 0
fi

cd "$(dirname "${BASH_SOURCE[0]}")/.."
venv=${1:-.venv-extras}
say() { printf 'browser: %s\n' "$*"; }

sh scripts/extras.sh "$venv"
venv=$(cd "$venv" && pwd)
readonly browser=$venv/bin/talm-sim-chromium
readonly unpacked=$venv/chromium

# What the tests start: a script, so that it can bring its libraries and fonts along.
launcher() {
    {
        printf '#!/bin/sh\n'
        if [[ $# == 2 ]]; then
            printf 'export LD_LIBRARY_PATH="%s${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" FONTCONFIG_FILE="%s"\n' "$2" "$unpacked/fonts.conf"
        fi
        printf 'exec "%s" "$@"\n' "$1"
    } >"$browser"
    chmod +x "$browser"
}

works() { [[ -x $browser ]] && "$browser" --headless --no-sandbox --disable-gpu --dump-dom 'data:text/html,<p>it works' 2>/dev/null | grep -q 'it works'; }

from_path() {
    local name
    for name in "${CHROMIUM:-}" chromium-headless-shell chromium chromium-browser google-chrome; do
        if [[ -n $name ]] && command -v "$name" >/dev/null; then
            launcher "$(command -v "$name")"
            works && return 0
        fi
    done
    return 1
}

from_debian() {
    command -v apt-get >/dev/null && command -v dpkg-deb >/dev/null || return 1
    local state=$unpacked/apt package deb
    mkdir -p "$state/lists/partial" "$state/cache/archives/partial" "$unpacked/root"
    # A state of its own, as the system's may be empty, and only root may refresh it; what is installed is the system's.
    local apt=(apt-get -qq -o "Dir::State=$state" -o "Dir::State::lists=$state/lists" -o Dir::State::status=/var/lib/dpkg/status
        -o "Dir::Cache=$state/cache" -o "APT::Sandbox::User=$(id -un)" -o Debug::NoLocking=true)
    "${apt[@]}" update || return 1
    for package in chromium-headless-shell chromium; do
        local wanted
        wanted=$("${apt[@]}" --simulate --no-install-recommends install "$package" fonts-dejavu-core 2>/dev/null | awk '/^Inst/ { print $2 }') || continue
        say "unpacking $package and $(($(wc -w <<<"$wanted") - 1)) packages it needs"
        # shellcheck disable=SC2086
        (cd "$state/cache/archives" && "${apt[@]}" download $wanted) || continue
        for deb in "$state"/cache/archives/*.deb; do dpkg-deb --extract "$deb" "$unpacked/root"; done
        rm -rf "$state"
        {
            printf '<?xml version="1.0"?><fontconfig><dir>%s</dir><dir>/usr/share/fonts</dir>' "$unpacked/root/usr/share/fonts"
            printf '<alias><family>%s</family><prefer><family>DejaVu Sans</family></prefer></alias>' sans-serif system-ui
            printf '<cachedir>%s</cachedir></fontconfig>\n' "$unpacked/font-cache"
        } >"$unpacked/fonts.conf"
        launcher "$unpacked/root/usr/lib/chromium/$package" \
            "$(find "$unpacked/root/usr/lib" "$unpacked/root/lib" -name '*.so*' -printf '%h\n' 2>/dev/null | sort -u | paste -sd:)"
        works && return 0
    done
    return 1
}

from_playwright() {
    PLAYWRIGHT_BROWSERS_PATH=$unpacked "$venv/bin/python" -m playwright install chromium-headless-shell || return 1
    launcher "$(find "$unpacked" -name headless_shell -o -name chrome-headless-shell | head -1)"
    works
}

if command -v npm >/dev/null && [[ ! -e $venv/axe/node_modules/axe-core/axe.min.js ]]; then
    npm install --silent --no-audit --no-fund --prefix "$venv/axe" axe-core@4 || say "no axe-core: npm could not get it" >&2
fi
if works || from_path || from_debian || from_playwright; then
    say "ready: $("$browser" --version 2>/dev/null | head -1)"
else
    say "no Chromium could be had; install Debian's chromium, or name a browser in CHROMIUM" >&2
    exit 1
fi
