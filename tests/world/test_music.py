"""Music tools answer with known facts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Ask = Callable[..., Any]


@pytest.mark.parametrize(
    ("chord", "notes"),
    [
        ("F#m7b5", "F# A C E"),
        ("D/F#", "F# D A"),
        ("C6/9", "C E G A D"),
        ("E♭m9", "Eb Gb Bb Db F"),
        ("C#dim7", "C# E G Bb"),
    ],
)
def test_chord_notes_are_spelled_by_the_chord(ask: Ask, chord: str, notes: str) -> None:
    assert ask("get_chord_notes", chord=chord)["notes"] == notes


@pytest.mark.parametrize("chord", ["Hm7", "Amaj77", "C/99999999", "7", "C/H"])
def test_an_unknown_chord_is_not_found_and_the_form_explained(ask: Ask, chord: str) -> None:
    detail = ask("get_chord_notes", 404, chord=chord)
    assert f"No chord '{chord}'." in detail
    assert "F#m7b5" in detail


@pytest.mark.parametrize(
    ("tonic", "scale", "notes"),
    [
        ("D", "dorian", "D E F G A B C"),
        ("F#", "lydian", "F# G# A# B# C# D# E#"),
        ("eb", "harmonic minor", "Eb F Gb Ab Bb Cb D"),
        ("A", "melodic minor", "A B C D E F# G#"),
        ("B", "locrian", "B C D E F G A"),
        ("G", "blues", "G Bb C Db D F"),
        ("B♭", "major pentatonic", "Bb C D F G"),
    ],
)
def test_scales_use_each_letter_once(ask: Ask, tonic: str, scale: str, notes: str) -> None:
    result = ask("get_scale_notes", tonic=tonic, scale=scale)
    assert result["notes"] == notes
    assert result["note_count"] == len(notes.split())


@pytest.mark.parametrize(
    ("notes", "chord"),
    [
        (["D", "F", "A", "C"], "Dm7"),
        (["B", "D", "F", "A"], "Bm7b5"),
        (["a♭", "C", "Eb", "G"], "Abmaj7"),
        (["E", "G", "C"], "C/E"),
        (["G", "B", "D", "F", "A"], "G9"),
        (["C", "Eb", "G", "B"], "Cmmaj7"),
    ],
)
def test_identify_chord_names_it_from_the_bass(ask: Ask, notes: list[str], chord: str) -> None:
    assert ask("identify_chord", notes=notes)["chord"] == chord


def test_identify_chord_lists_the_other_readings(ask: Ask) -> None:
    assert ask("identify_chord", notes=["F", "A", "C", "D"]) == {"notes": "F A C D", "chord": "F6", "also_called": ["Dm7/F"]}


def test_notes_that_make_no_chord_are_not_found(ask: Ask) -> None:
    assert "No chord made of 'C C# D'." in ask("identify_chord", 404, notes=["C", "C#", "D"])
    assert ask("identify_chord", 422, notes=["C", "X"]).startswith("notes.1: ")


@pytest.mark.parametrize(
    ("chords", "from_key", "to_key", "transposed"),
    [
        (["C", "G", "Am", "F"], "C", "E", "E B C#m A"),
        (["G", "D", "Em", "C"], "G", "Bb", "Bb F Gm Eb"),
        (["C", "G/B", "F#dim"], "C", "E", "E B/D# A#dim"),
        (["F#m7b5", "B7"], "C", "F", "Bm7b5 E7"),
        (["Bb", "Ab7"], "Bb", "A", "A G7"),
    ],
)
def test_transposed_chords_are_spelled_for_the_new_key(ask: Ask, chords: list[str], from_key: str, to_key: str, transposed: str) -> None:
    assert ask("transpose_chords", chords=chords, from_key=from_key, to_key=to_key)["transposed"] == transposed


def test_double_accidentals_are_written_more_simply(ask: Ask) -> None:
    result = ask("transpose_chords", chords=["D#m"], from_key="B", to_key="C#")
    assert (result["semitones_up"], result["transposed"]) == (2, "E#m")
    assert ask("transpose_chords", chords=["A#"], from_key="C", to_key="C#")["transposed"] == "B"
    assert ask("transpose_chords", chords=["Abm"], from_key="C", to_key="Gb")["transposed"] == "Dm"


@pytest.mark.parametrize(
    ("note", "frequency", "midi", "key"),
    [("A4", 440.0, 69, 49), ("C4", 261.63, 60, 40), ("E2", 82.41, 40, 20), ("A0", 27.5, 21, 1), ("C8", 4186.01, 108, 88)],
)
def test_note_frequency_in_equal_temperament(ask: Ask, note: str, frequency: float, midi: int, key: int) -> None:
    result = ask("get_note_frequency", note=note)
    assert (result["frequency_hz"], result["midi_number"], result["piano_key"]) == (frequency, midi, key)


def test_an_accidental_may_leave_the_octave_and_a_note_the_piano(ask: Ask) -> None:
    assert ask("get_note_frequency", note="Cb4")["frequency_hz"] == ask("get_note_frequency", note="B3")["frequency_hz"]
    assert ask("get_note_frequency", note="B#3")["midi_number"] == 60
    assert ask("get_note_frequency", note="C9")["piano_key"] is None


def test_note_frequency_follows_the_concert_pitch(ask: Ask) -> None:
    assert ask("get_note_frequency", note="A5", concert_pitch=415)["frequency_hz"] == 830.0
    assert ask("get_note_frequency", 422, note="A5", concert_pitch=4400).startswith("concert_pitch: ")


@pytest.mark.parametrize("number", ["Op. 18 No. 4", "op 18/4", "opus 18, no. 4"])
def test_a_work_by_any_spelling_of_its_number(ask: Ask, number: str) -> None:
    quartet = ask("find_musical_work", composer="Beethoven", catalogue_number=number)
    assert (quartet["key"], quartet["movement_count"], quartet["movements"][1]["key"]) == ("C minor", 4, "C major")
