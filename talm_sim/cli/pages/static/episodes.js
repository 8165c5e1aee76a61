// The index of the episodes: search, filters, keys and links.

const FIRST = 150

const nameOf = line => page.index.runs.length > 1 ? `${page.index.runs[line.run].id}:${line.id}` : line.id
const hashOf = line => '#' + encoded(nameOf(line))

/** What a line is filtered by: title to the values that it has. */
const FILTERS = {
  Run: line => [page.index.runs[line.run].id],
  Group: line => [line.group],
  Category: line => line.category ? [line.category] : [],
  Outcome: line => [line.outcome],
  Ended: line => [line.end],
  Fault: line => line.fired.length ? [...new Set(line.fired.flatMap(name => [`${name} fired`, ...(line.seen.includes(name) ? [`${name} seen`] : [])]))] : ['none fired'],
  Verdict: line => Object.entries(line.verdicts).map(([judge, word]) => `${judge}: ${word}`),
  Asked: line => [line.asked ? 'asked a person' : 'asked nobody'],
  Comments: line => [line.comments ? 'with comments' : 'without comments'],
}

/** All that can be searched of an episode, in small letters. */
function textOf(line) {
  line.text ??= JSON.stringify([nameOf(line), line.query, line.answer, held(line.run, line.id)]).toLowerCase()
  return line.text
}

function episodeLine(line) {
  const number = ++episodes.made
  line.body = make('div', { class: 'body', id: `body-${number}`, hidden: true })
  line.button = make('button', { type: 'button', 'aria-expanded': 'false', 'aria-controls': line.body.id, click: () => toggle(line) }, nameOf(line))
  line.item = make('li', { class: 'episode' }, lineHead(line), line.body)
  return line.item
}

/** What is shown of a line above its transcript. */
function lineHead(line) {
  const facts = [line.group, line.category, line.end, episodes.acting.has(line.run) && count(line.calls, 'call') + (line.failed ? `, ${line.failed} failed` : ''), line.asked > 0 && count(line.asked, 'question'), line.comments > 0 && count(line.comments, 'comment'), ...line.shown.map(([name, value]) => `${name}: ${value}`)]
  return [
    make('div', { class: 'bar' }, badge(line.kind, line.outcome), make('h3', {}, line.button), make('a', { class: 'link', href: hashOf(line), 'aria-label': `Link to ${nameOf(line)}` }, '#'),
      make('span', { class: 'facts' }, facts.filter(Boolean).join(' · '), ' ', line.fired.map(name => [badge(line.seen.includes(name) ? 'notice' : 'faint', '⚡ ', name), ' ']))),
    make('p', { class: 'excerpt' }, line.query),
  ]
}

async function toggle(line, open = line.body.hidden) {
  line.body.hidden = !open
  line.item.classList.toggle('open', open)
  line.button.setAttribute('aria-expanded', String(open))
  if (!open || line.filled) return
  line.filled = true
  try {
    const found = await page.transcript(line.run, line.id)
    const view = found ? transcriptView(found) : elsewhere(line)
    if (line.view?.isConnected) line.view.replaceWith(view)
    else line.body.replaceChildren(view)
    line.view = view
    if (found) page.opened(line, found)
  } catch (problem) {
    line.filled = false
    line.body.replaceChildren(make('p', { class: 'bad' }, `The transcript cannot be read: ${problem.message}`))
  }
}

/** Where a transcript is that this file does not hold. */
function elsewhere(line) {
  return line.file ? make('p', {}, make('a', { href: encoded(line.file) + hashOf(line) }, `Read the transcript in ${line.file}`)) : make('p', { class: 'faint' }, 'This page was written without transcripts.')
}

const episodes = { all: [], shown: [], rendered: 0, chosen: {}, made: 0 }

function chooseFrom(title, values) {
  const numbers = new Map()
  for (const line of episodes.all) for (const value of values(line)) numbers.set(value, (numbers.get(value) || 0) + 1)
  if (numbers.size < 2 && title !== 'Fault') return null
  if (title === 'Fault' && !episodes.all.some(line => line.fired.length)) return null
  const options = [...numbers].sort(([one], [other]) => one < other ? -1 : 1).map(([value, number]) => make('option', { value }, `${value} (${number.toLocaleString('en')})`))
  const made = choice(`filter-${title.toLowerCase()}`, title, [make('option', { value: '' }, 'all'), options], value => { episodes.chosen[title] = value; filter() })
  made.querySelector('select').value = episodes.chosen[title] || ''
  return made
}

function choose() {
  const words = episodes.search.value.toLowerCase().split(/\s+/).filter(Boolean)
  const chosen = Object.entries(episodes.chosen).filter(([, value]) => value)
  episodes.shown = episodes.all.filter(line => chosen.every(([title, value]) => FILTERS[title](line).includes(value)) && words.every(word => textOf(line).includes(word)))
  const said = `${episodes.shown.length.toLocaleString('en')} of ${count(episodes.all.length, 'episode')}`
  if (episodes.said.textContent !== said) episodes.said.textContent = said
}

function filter() {
  choose()
  episodes.rendered = 0
  episodes.list.replaceChildren()
  render(FIRST)
}

/** Bring the list up to date: lines that stay are not moved, so that whoever reads or writes in one is not disturbed. */
function update() {
  readLines()
  choose()
  const wanted = episodes.shown.slice(0, Math.max(FIRST, episodes.rendered)), kept = new Set(wanted.map(line => line.item))
  for (const item of [...episodes.list.children]) if (!kept.has(item)) item.remove()
  let next = episodes.list.firstElementChild
  for (const line of wanted) {
    if (line.item && line.item === next) next = next.nextElementSibling
    else episodes.list.insertBefore(line.item || episodeLine(line), next)
  }
  episodes.rendered = wanted.length
  render(episodes.rendered)
}

function render(until) {
  const next = episodes.shown.slice(episodes.rendered, until)
  add(episodes.list, next.map(line => line.item || episodeLine(line)))
  episodes.rendered += next.length
  const left = episodes.shown.length - episodes.rendered
  episodes.more.hidden = left === 0
  episodes.more.textContent = `Show more (${left.toLocaleString('en')} left)`
}

function goTo(place) {
  const line = episodes.shown[place]
  if (!line) return
  if (place >= episodes.rendered) render(place + FIRST)
  line.button.focus()
  line.item.scrollIntoView({ block: 'start' })
}

function step(by) {
  const now = episodes.shown.findIndex(line => line.item && line.item.contains(document.activeElement))
  goTo(Math.max(0, now < 0 ? (by > 0 ? 0 : episodes.shown.length - 1) : now + by))
}

function follow() {
  let wanted
  try { wanted = decodeURIComponent(location.hash.slice(1)) } catch { return }
  const line = wanted && episodes.all.find(one => nameOf(one) === wanted || one.id === wanted)
  if (!line) return
  if (!episodes.shown.includes(line)) { reset(); filter() }
  goTo(episodes.shown.indexOf(line))
  toggle(line, true).then(() => line.item.scrollIntoView({ block: 'start' }))
}

function reset() {
  episodes.chosen = {}
  episodes.search.value = ''
  for (const select of episodes.filters.querySelectorAll('select')) select.value = ''
}

function onKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest('input, select, textarea')) return
  const act = { j: () => step(1), k: () => step(-1), '/': () => episodes.search.focus() }[event.key]
  if (!act) return
  event.preventDefault()
  act()
}

function expandAll(open) {
  for (const line of episodes.shown.slice(0, episodes.rendered)) toggle(line, open)
}

/** Read the lines of the page's runs. One that was there before is kept, with all that a reader opened in it. */
function readLines() {
  const before = new Map(episodes.all.map(line => [`${line.run} ${line.id}`, line]))
  episodes.all = page.index.runs.flatMap((run, number) => run.episodes.map(data => renew(before.get(`${number} ${data.id}`) || { run: number }, data)))
  episodes.acting = new Set(episodes.all.filter(line => line.calls).map(line => line.run))
  if (episodes.filters.contains(document.activeElement)) return // somebody is choosing
  episodes.filters.replaceChildren(...Object.entries(FILTERS).map(([title, values]) => chooseFrom(title, values)).filter(Boolean))
}

/** Give a line its data; its transcript is read again if more than the comments has changed. */
function renew(line, data) {
  const head = JSON.stringify(data), story = JSON.stringify({ ...data, comments: 0 })
  if (line.head === head) return line
  const retold = line.story !== story
  Object.assign(line, data, { head, story, text: undefined })
  if (!line.item) return line
  const focused = document.activeElement === line.button
  for (const one of [...line.item.children]) if (one !== line.body) one.remove()
  line.item.prepend(...lineHead(line))
  if (focused) line.button.focus()
  if (retold) {
    line.filled = false
    if (!line.body.hidden) toggle(line, true)
  }
  return line
}

function episodesSection() {
  episodes.search = make('input', { type: 'search', id: 'search', placeholder: page.transcripts ? 'in all that was said' : 'in queries and answers', input: () => filter() })
  episodes.list = make('ol', { class: 'episodes' })
  episodes.said = make('p', { class: 'said', role: 'status' })
  episodes.filters = make('div', { class: 'filters' })
  episodes.more = make('button', { type: 'button', class: 'more', click: () => render(episodes.rendered + 4 * FIRST) })
  const button = (text, act) => make('button', { type: 'button', click: act }, text)
  const section = make('section', { id: 'episodes', 'aria-labelledby': 'episodes-title' }, make('h2', { id: 'episodes-title' }, 'Episodes'),
    make('p', { class: 'how' }, make('kbd', {}, 'j'), ' and ', make('kbd', {}, 'k'), ' go to the next and the previous episode, ', make('kbd', {}, 'Enter'), ' opens or closes it, ', make('kbd', {}, '/'), ' goes to the search.'),
    make('search', { class: 'tools' }, make('span', { class: 'choice' }, make('label', { for: 'search' }, 'Search'), ' ', episodes.search), episodes.filters,
      make('div', { class: 'buttons' }, button('Clear filters', () => { reset(); filter() }), button('Expand', () => expandAll(true)), button('Collapse', () => expandAll(false)))),
    episodes.said, episodes.list, episodes.more)
  readLines()
  filter()
  return section
}
