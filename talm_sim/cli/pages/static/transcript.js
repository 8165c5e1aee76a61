// One episode as a page to read.

const part = (title, ...content) => make('section', { class: 'part' }, make('h4', {}, title), content)

function struckBy(fault) {
  const kind = { seen: 'bad', unseen: 'notice' }[fault.outcome] || 'faint'
  return make('p', { class: 'fault' }, badge(kind, '⚡ ', fault.name), ' ', fault.said)
}

const replacedBy = faults => (faults || []).filter(fault => fault.replaced !== undefined).map(fault => [make('p', { class: 'fault' }, `in place of (${fault.name}):`), prose(fault.replaced, 'result')])

function argumentList(pairs) {
  return pairs.length > 0 && make('dl', { class: 'arguments' }, pairs.map(([name, value]) => [make('dt', {}, name), make('dd', {}, prose(value))]))
}

function callPart(call) {
  const facts = call.executed
    ? [badge(call.ok ? 'good' : 'bad', call.ok ? 'ok' : 'failed'), ' ', call.origin === 'not sent' ? `not sent: ${(call.error || 'refused').replaceAll('_', ' ')}` : [call.status, call.error, call.origin, `${Math.round(call.elapsed_ms || 0)} ms`].filter(Boolean).join(' · ')]
    : [badge('notice', 'not executed'), ' ', call.why_not]
  return make('div', { class: 'event call' },
    make('p', { class: 'title' }, make('span', { class: 'sign', 'aria-hidden': 'true' }, '→ '), make('code', {}, call.name), ' ', facts),
    argumentList(call.arguments), (call.faults || []).map(struckBy), call.result && prose(call.result, 'result'), replacedBy(call.faults))
}

function askedPart(asked) {
  const marked = asked.appropriate === undefined ? '' : ` (question marked as ${asked.appropriate ? '' : 'not '}appropriate)`
  return make('div', { class: 'event asked' },
    make('p', { class: 'title' }, make('span', { class: 'sign', 'aria-hidden': 'true' }, '? '), `${asked.how}:`), prose(asked.question),
    make('p', { class: 'title reply' }, `${asked.who}${asked.declined ? ' ' : ':'}`, asked.declined && make('em', {}, asked.reply), marked),
    !asked.declined && prose(asked.reply))
}

function brokenPart(broken) {
  return make('div', { class: 'event broken' }, make('p', { class: 'title' }, badge('notice', 'not a valid call'), ' ', make('code', {}, broken.name), ' ', broken.reason), prose(broken.raw, 'result'))
}

const makers = { call: callPart, broken: brokenPart }

function eventPart(event, marked) {
  const made = (makers[event.kind] || askedPart)(event)
  if ((event.steps || []).includes(marked)) mark(made)
  return made
}

function mark(element) {
  element.classList.add('differs')
  element.prepend(make('p', { class: 'mark' }, 'The first step that differs'))
}

function turnPart(turn, marked) {
  const title = turn.to > turn.number ? `Turns ${turn.number} to ${turn.to}, all identical` : `Turn ${turn.number}`
  const events = turn.events.map(event => eventPart(event, marked))
  const made = make('section', { class: `part turn${turn.answers ? ' answer' : ''}` }, make('h4', {}, turn.answers ? `${title}, the answer` : title),
    (turn.faults || []).map(struckBy), replacedBy(turn.faults),
    turn.reasoning && turn.reasoning.trim() && folded('Reasoning', () => prose(turn.reasoning.trim(), 'faint'), turn.reasoning.length < 400),
    turn.text && turn.text.trim() && prose(turn.text.trim()), events,
    turn.finish !== undefined && turn.finish !== null && [make('p', { class: 'title' }, '→ ', make('code', {}, 'Finish')), prose(turn.finish.trim() || '(empty)')],
    turn.reminded && make('p', { class: 'faint' }, '(no call: reminded to call Finish)'),
    turn.first_tokens.length > 0 && make('p', { class: 'faint' }, 'first token: ', turn.first_tokens.join(', ')),
    turn.cut && make('p', { class: 'faint' }, '(cut off at the token limit of one turn)'))
  if (turn.steps.includes(marked) && !events.some(one => one.classList.contains('differs'))) mark(made)
  return [(turn.user || []).map((text, place, all) => part(`The user, request ${(turn.request || 1) - all.length + place + 1}`, prose(text))), made]
}

function verdictLine(verdict) {
  const [kind, word] = verdict.value === true ? ['good', 'pass'] : verdict.value === false ? ['bad', 'fail'] : ['faint', 'no verdict']
  return make('li', {}, make('strong', {}, verdict.judge), ' ', badge(kind, verdict.label || word), ' ', verdict.votes && `(${verdict.votes}) `,
    verdict.labels.map(([name, label]) => [badge('faint', `${name}: ${label}`), ' ']), verdict.why && prose(verdict.why.trim()))
}

/** What readers wrote, each with the attempt that they saw if it is not this one. */
function commentList(comments, attempt) {
  const line = one => make('li', {}, make('p', { class: 'faint' }, one.who, one.attempt !== attempt && `, on attempt ${one.attempt}`), prose(one.text))
  return comments.length ? [make('ol', { class: 'written' }, comments.map(line))] : []
}

/** A line of a task's section; what is long, such as a question with all tools, is shown on demand. */
const sectionLine = parts => parts.some(([, text]) => text.length > 300)
  ? folded(parts.map(([, text]) => text).join('').trim().slice(0, 160) + '…', () => sectionText(parts))
  : sectionText(parts)
const sectionText = parts => make('p', { class: 'line' }, parts.map(([style, text]) => make('span', { class: `is-${style}` }, text)))

function sectionsPart(one, marked) {
  const made = make('div', {}, one.sections.map(section => part(section.title, section.lines.map(sectionLine))))
  if ((one.awareness_steps || []).includes(marked)) mark(made)
  return made
}

/** The transcript; `marked` is the number of the step that differs from another one's. */
function transcriptView(one, marked) {
  const who = [one.agent && `agent ${one.agent}`, `model ${one.model}`, `human ${one.human}`, one.epoch > 1 && `epoch ${one.epoch}`, one.attempt > 1 && `attempt ${one.attempt}`]
  const end = make('section', { class: 'part end' }, make('h4', {}, one.answer === undefined ? 'End' : 'Answer'), one.answer !== undefined && prose(one.answer.trim() || '(none)'),
    make('p', { class: 'faint' }, `ended: ${one.termination} after ${one.turns_seen}, ${one.elapsed_s.toFixed(1)} s`))
  if (marked !== undefined && (one.answer_steps || []).includes(marked)) mark(end)
  const views = [
    make('p', { class: 'faint' }, who.filter(Boolean).join(' · ')), (one.notes || []).map(note => make('p', { class: 'faint' }, note)),
    one.query !== null && one.query !== undefined && part('Query', prose(one.query)),
    sectionsPart(one, marked),
    one.prompt && one.prompt.trim() && part('Prompt', folded(`What the model read first (${count(one.prompt.length, 'character')})`, () => prose(one.prompt.trim(), 'result'))),
    one.turns.map(turn => turnPart(turn, marked)),
    (one.unanswered || []).map(text => part('The user, unanswered', prose(text))),
    one.error && part('Error', prose(one.error, 'bad')), one.traceback && part('Traceback', prose(one.traceback, 'result')), end,
    (one.faults || []).length > 0 && part('Faults', make('ul', {}, one.faults.map(text => make('li', {}, text)))),
    one.verdicts && part('Verdicts', one.verdicts.length ? make('ul', { class: 'verdicts' }, one.verdicts.map(verdictLine)) : make('p', { class: 'faint' }, 'None yet; score the run with: talm-sim judge')),
    !live && one.comments.length > 0 && part('Comments', commentList(one.comments, one.attempt)),
  ]
  return make('div', { class: 'transcript' }, views)
}
