// Elements are made here, and text only ever becomes text: nothing of a run is read as HTML.

const read = name => JSON.parse(document.getElementById(name).textContent)
const live = document.documentElement.dataset.mode === 'live'

/** Make an element. `given` has attributes; functions in it listen to events. */
function make(tag, given = {}, ...children) {
  const element = document.createElement(tag)
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined || value === null || value === false || (name === 'class' && !value)) continue
    if (typeof value === 'function') element.addEventListener(name, value)
    else element.setAttribute(name, value === true ? '' : value)
  }
  add(element, children)
  return element
}

function add(parent, children) {
  for (const child of [children].flat(Infinity)) {
    if (child === undefined || child === null || child === false || child === '') continue
    parent.append(child instanceof Node ? child : document.createTextNode(String(child)))
  }
}

function draw(tag, given = {}, ...children) {
  const element = document.createElementNS('http://www.w3.org/2000/svg', tag)
  for (const [name, value] of Object.entries(given)) element.setAttribute(name, value)
  add(element, children)
  return element
}

const count = (number, noun) => `${number.toLocaleString('en')} ${noun}${number === 1 ? '' : 's'}`
/** A transcript that the file holds; null if it has none. */
const held = (run, episode) => page.transcripts && Object.hasOwn(page.transcripts[run], episode) ? page.transcripts[run][episode] : null
/** A text as part of an address; what is half of a character has no place there. */
const encoded = text => encodeURIComponent(text.replace(/\p{Surrogate}/gu, '\ufffd'))
const badge = (kind, ...text) => make('span', { class: `badge ${kind}` }, text)
const capital = text => text.slice(0, 1).toUpperCase() + text.slice(1)

/** A long name may be broken behind an underscore. */
const broken = name => name.split('_').flatMap((part, place, all) => place < all.length - 1 ? [part + '_', make('wbr')] : [part])

/** A part of the page that can be closed. It is filled when it is opened for the first time. */
function folded(title, fill, open = false) {
  const body = make('div', { class: 'folded' })
  const details = make('details', { open }, make('summary', {}, title), body)
  let filled = false
  const ensure = () => { if (details.open && !filled) { filled = true; add(body, fill()) } }
  details.addEventListener('toggle', ensure)
  ensure()
  return details
}

const LONG = 700

/** A text as it was written; the rest of a long one is shown on demand. */
function prose(text, kind = '') {
  const block = make('div', { class: `prose ${kind}` })
  if (text.length <= LONG) { add(block, text); return block }
  const rest = text.length - LONG
  const button = make('button', { type: 'button', class: 'more', click: () => { block.textContent = text } }, `show ${rest.toLocaleString('en')} more characters`)
  add(block, [text.slice(0, LONG), '… ', button])
  return block
}

/** A choice with its label beside it. */
function choice(id, title, options, act) {
  const select = make('select', { id, change: () => act(select.value) }, options)
  return make('span', { class: 'choice' }, make('label', { for: id }, title), ' ', select)
}

/** A list of which the first lines are shown. */
function lengthy(items, first, makeLine, list) {
  let shown = 0
  const button = make('button', { type: 'button', class: 'more', click: () => more(10 * first) })
  function more(number) {
    add(list, items.slice(shown, shown + number).map(makeLine))
    shown = Math.min(items.length, shown + number)
    button.textContent = `Show more (${(items.length - shown).toLocaleString('en')} left)`
    button.hidden = shown >= items.length
  }
  more(first)
  return button
}
