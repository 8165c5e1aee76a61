

def test_a_name_that_could_be_chords_by_its_letters_is_a_name() -> None:
    for name in ("Good Friday", "Boxing Day", "Constitution Day"):
        text = f"It was {name}."
        assert [text[slice(*place)] for place in places_of(name, text, Words(text))] == [name]
