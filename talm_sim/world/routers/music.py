"""Chords, scales, pitches and works.

Chords follow the grammar of pychord (MIT); scales, keys and equal temperament are computed here from music theory. Works are from
werkverzeichnis (CC BY 4.0).
"""

from functools import lru_cache
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from pychord import Chord, QualityManager, find_chords_from_notes
from pychord.constants.scales import NOTE_VALUES
from pychord.quality import scale_notes
from pychord.utils import augment, diminish, note_to_val, transpose_note
from pydantic import BaseModel

from talm_sim.world.lookup import fold, not_found
from talm_sim.world.stand_in import person_can, person_cannot
from talm_sim.world.vendored import read_data

router = APIRouter(prefix="/music")

LETTERS = "CDEFGAB"
CHORD_HINT = "Write chords such as Am7, F#m7b5, Bbmaj7 or D/F#."
MOST_MOVEMENTS = 10
SPEED_OF_SOUND = 343.2
"""Metres a second, in dry air of 20 degrees Celsius."""
LOWEST_PIANO_KEY, HIGHEST_PIANO_KEY = 21, 108
"""MIDI numbers of the ends of a piano's keyboard, A0 and C8."""

ScaleName = Literal[
    "major",
    "natural minor",
    "harmonic minor",
    "melodic minor",
    "dorian",
    "phrygian",
    "lydian",
    "mixolydian",
    "locrian",
    "major pentatonic",
    "minor pentatonic",
    "blues",
]
DEGREES: dict[ScaleName, str] = {
    "major": "1 2 3 4 5 6 7",
    "natural minor": "1 2 b3 4 5 b6 b7",
    "harmonic minor": "1 2 b3 4 5 b6 7",
    "melodic minor": "1 2 b3 4 5 6 7",
    "dorian": "1 2 b3 4 5 6 b7",
    "phrygian": "1 b2 b3 4 5 b6 b7",
    "lydian": "1 2 3 #4 5 6 7",
    "mixolydian": "1 2 3 4 5 6 b7",
    "locrian": "1 b2 b3 4 b5 b6 b7",
    "major pentatonic": "1 2 3 5 6",
    "minor pentatonic": "1 b3 4 5 b7",
    "blues": "1 b3 4 b5 5 b7",
}
"""Each scale against the major scale on the same tonic; the melodic minor is the ascending one."""

NOTE = r"^ *[A-Ga-g][#b♯♭]? *$"
Key = Annotated[str, Query(description="Tonic of the key, such as C, F# or Bb; without major or minor.", examples=["C"], pattern=NOTE)]


def _normalize_name(text: str) -> str:
    """The name of a note or chord as pychord reads it: capital letter, # and b for the accidentals."""
    text = text.strip().replace("♯", "#").replace("♭", "b")
    return text[:1].upper() + text[1:]


@lru_cache(maxsize=1)
def _qualities() -> dict[tuple[int, ...], str]:
    """The usual name of every chord quality by its pitches: without + and - signs, with maj before M."""
    names: dict[tuple[int, ...], str] = {}
    every = QualityManager().get_qualities()
    for name in sorted(every, key=lambda name: ("-" in name or "+" in name, "M" in name)):
        names.setdefault(every[name].components, name)
    return names


def _chord(name: str) -> Chord:
    # pychord takes the 9 of a six-nine chord for an inversion.
    written = _normalize_name(name).replace("6/9", "69")
    _, slash, bass = written.partition("/")
    if not slash or bass[:1].isalpha():
        try:
            return Chord(written)
        except ValueError:
            pass
    root = written[: 2 if written[1:2] in ("#", "b") else 1]
    raise not_found("chord", name, [root + quality for quality in QualityManager().get_qualities()], CHORD_HINT)


def _transpose_note(note: str, from_key: str, to_key: str) -> str:
    """The note that stands to one key as `note` stands to the other, by letter and by pitch."""
    semitones = note_to_val(to_key) - note_to_val(from_key)
    letter = LETTERS[(LETTERS.index(note[0]) + LETTERS.index(to_key[0]) - LETTERS.index(from_key[0])) % len(LETTERS)]
    sharps = (note_to_val(note) + semitones - NOTE_VALUES[letter] + 6) % 12 - 6
    if abs(sharps) > 1:
        return transpose_note(note, semitones, "C" if sharps < 0 else "G")
    return letter + {-1: "b", 0: "", 1: "#"}[sharps]


class ChordNotes(BaseModel):
    """The notes of a chord."""

    chord: str
    root: str
    notes: str
    note_count: int
    degrees: str


class ScaleNotes(BaseModel):
    """The notes of a scale."""

    tonic: str
    scale: str
    notes: str
    note_count: int
    degrees: str


class NamedChord(BaseModel):
    """A chord recognised by its notes."""

    notes: str
    chord: str
    also_called: list[str]


class TransposedChords(BaseModel):
    """Chords carried to another key."""

    from_key: str
    to_key: str
    semitones_up: int
    chords: str
    transposed: str


class Movement(BaseModel):
    """A movement of a work."""

    number: int
    title: str
    key: str | None = None


class MusicalWork(BaseModel):
    """A work of a classical composer."""

    composer: str
    catalogue_numbers: list[str]
    title: str | None = None
    form: str
    key: str | None = None
    year: int | None = None
    scoring: str | None = None
    movement_count: int
    movements: list[Movement]


class Pitch(BaseModel):
    """A note of equal temperament."""

    note: str
    frequency_hz: float
    wavelength_cm: float
    midi_number: int
    piano_key: int | None


@router.get(
    "/chord",
    operation_id="get_chord_notes",
    summary="Get the notes of a chord, from the bass up, and their degrees.",
    openapi_extra=person_can("Anybody who plays an instrument knows the notes of a chord."),
)
async def get_chord_notes(
    chord: Annotated[str, Query(description="Chord symbol.", examples=["Am7"], min_length=1, max_length=16)],
) -> ChordNotes:
    found = _chord(chord)
    notes = found.components(visible=True)
    return ChordNotes(
        chord=found.chord,
        root=found.root,
        notes=" ".join(notes),
        note_count=len(notes),
        degrees=" ".join(found.quality.intervals),
    )


@router.get(
    "/scale",
    operation_id="get_scale_notes",
    summary="Get the notes of a scale or mode in order, starting on its tonic and properly spelled.",
    openapi_extra=person_can("Anybody who plays an instrument can play the scale and read off its notes."),
)
async def get_scale_notes(
    tonic: Annotated[str, Query(description="First note of the scale, such as D, F# or Eb.", examples=["D"], pattern=NOTE)],
    scale: Annotated[ScaleName, Query(description="Name of the scale.", examples=["dorian"])],
) -> ScaleNotes:
    first = _normalize_name(tonic)
    major = scale_notes(first, "maj")
    notes = []
    for degree in DEGREES[scale].split():
        note = major[int(degree[-1]) - 1]
        notes.append(diminish(note) if degree[0] == "b" else augment(note) if degree[0] == "#" else note)
    return ScaleNotes(tonic=first, scale=scale, notes=" ".join(notes), note_count=len(notes), degrees=DEGREES[scale])


@router.get(
    "/chord-name",
    operation_id="identify_chord",
    summary="Name the chord that a set of notes makes, given from the lowest note up.",
    openapi_extra=person_cannot("Naming a chord by ear or by its notes takes training."),
)
async def identify_chord(
    notes: Annotated[
        list[Annotated[str, Query(pattern=NOTE)]],
        Query(description="Notes from the lowest up, without octaves.", examples=[["D", "F", "A", "C"]], min_length=2, max_length=7),
    ],
) -> NamedChord:
    plain = [_normalize_name(note) for note in notes]
    found = [_usual_name(chord) for chord in find_chords_from_notes(plain)]
    if not found:
        raise not_found("chord made of", " ".join(plain), hint="Give the notes from the lowest up, in close position.")
    return NamedChord(notes=" ".join(plain), chord=found[0], also_called=found[1:])


def _usual_name(chord: Chord) -> str:
    return chord.root + _qualities()[chord.quality.components] + (f"/{chord.on}" if chord.on else "")


@router.get(
    "/transposition",
    operation_id="transpose_chords",
    summary="Carry a chord progression from one key to another.",
    openapi_extra=person_cannot("Carrying a whole progression over takes training and time."),
)
async def transpose_chords(
    chords: Annotated[
        list[str],
        Query(description="Chord symbols in order.", examples=[["C", "G", "Am", "F"]], min_length=1, max_length=16),
    ],
    from_key: Key,
    to_key: Key,
) -> TransposedChords:
    source, target = _normalize_name(from_key), _normalize_name(to_key)
    moved = []
    for chord in map(_chord, chords):
        suffix = chord.chord.removeprefix(chord.root).partition("/")[0]
        bass = f"/{_transpose_note(chord.on, source, target)}" if chord.on else ""
        moved.append(_transpose_note(chord.root, source, target) + suffix + bass)
    return TransposedChords(
        from_key=source,
        to_key=target,
        semitones_up=(note_to_val(target) - note_to_val(source)) % 12,
        chords=" ".join(map(_normalize_name, chords)),
        transposed=" ".join(moved),
    )


@router.get(
    "/pitch",
    operation_id="get_note_frequency",
    summary="Compute the frequency, wavelength, MIDI number and piano key of a note in equal temperament.",
    openapi_extra=person_cannot("Frequencies are computed, or measured with a device."),
)
async def get_note_frequency(
    note: Annotated[
        str,
        Query(description="Note with its octave; C4 is middle C.", examples=["A4"], pattern=r"^[A-Ga-g][#b♯♭]?[0-9]$"),
    ],
    concert_pitch: Annotated[float, Query(description="Frequency of A4 in Hz; 440 unless told.", examples=[440], ge=390, le=470)] = 440.0,
) -> Pitch:
    name, octave = _normalize_name(note)[:-1], int(note[-1])
    # Cb4 lies below middle C and B#4 above B4, so the accidental counts outside the octave.
    midi = 12 * (octave + 1) + NOTE_VALUES[name[0]] + name.count("#") - name.count("b")
    frequency = concert_pitch * 2 ** ((midi - 69) / 12)
    return Pitch(
        note=name + str(octave),
        frequency_hz=round(frequency, 2),
        wavelength_cm=round(100 * SPEED_OF_SOUND / frequency, 1),
        midi_number=midi,
        piano_key=midi - LOWEST_PIANO_KEY + 1 if LOWEST_PIANO_KEY <= midi <= HIGHEST_PIANO_KEY else None,
    )


@lru_cache(maxsize=1)
def _works() -> dict[tuple[str, str], dict[str, Any]]:
    """Works by composer and bare number."""
    return {(work["composer"], _bare(number)): work for work in read_data("music", "works.json.gz") for number in work["numbers"]}


def _bare(number: str) -> str:
    """A catalogue number without its dots, spaces and the words around it: `Op. 18 No. 4` and `op 18/4` are one.

    >>> _bare("Op. 18 No. 4"), _bare("op 18/4"), _bare("KV 331"), _bare("Hob. I:104")
    ('op18/4', 'op18/4', 'k331', 'hobi:104')
    """
    plain = fold(number).replace("opus", "op").replace("kv", "k").replace("hoboken", "hob")
    plain = plain.replace(", no", "/").replace(" no", "/").replace(" nr", "/")
    return "".join(char for char in plain if char.isalnum() or char in ":/")


def _key_name(key: str) -> str | None:
    """The key in words; the data write minor keys with a small letter."""
    return f"{_normalize_name(key)} {'major' if key[0].isupper() else 'minor'}" if key else None


@router.get(
    "/works",
    operation_id="find_musical_work",
    summary="Look up a work of Bach, Beethoven, Haydn, Mozart or Schubert by catalogue number: form, key, year, movements with tempo and key.",
    response_model_exclude_none=True,
    openapi_extra=person_cannot("The entries are rows of the catalogues of works.", record=True),
)
async def find_musical_work(
    composer: Annotated[Literal["Bach", "Beethoven", "Haydn", "Mozart", "Schubert"], Query(description="Composer.", examples=["Mozart"])],
    catalogue_number: Annotated[
        str, Query(description="Number with its catalogue: BWV, Op., Hob., K. or D.", examples=["K. 331"], min_length=2, max_length=30)
    ],
) -> MusicalWork:
    work = _works().get((composer, _bare(catalogue_number)))
    if work is None:
        known = [number for work in read_data("music", "works.json.gz") if work["composer"] == composer for number in work["numbers"]]
        raise not_found(
            f"work of {composer}", catalogue_number, known, hint="Give the number with its catalogue, such as K. 331 or Hob. I:104."
        )
    dates = work["dates"]
    movements = [Movement(number=number, title=title[:80], key=_key_name(key)) for number, (title, key) in enumerate(work["movements"], 1)]
    return MusicalWork(
        composer=composer,
        catalogue_numbers=work["numbers"],
        title=work["title"] or None,
        form=work["form"],
        key=_key_name(work["key"]),
        year=dates.get("composed") or dates.get("premiered") or dates.get("published"),
        scoring=work["scoring"][:150] or None,
        movement_count=len(movements),
        movements=movements[:MOST_MOVEMENTS],
    )
