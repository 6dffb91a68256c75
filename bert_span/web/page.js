/**
 * What demo.html and file.html share: the form, the marked passage, the list of
 * answers, the windows. A classic script, as pages opened from a file need it.
 * Texts go through textContent: nothing but the constants here is read as HTML.
 */

"use strict";

/**
 * A span of the passage; its offsets count code points.
 * @typedef {object} ShownSpan
 * @property {string} text "" for no answer.
 * @property {number} charStart
 * @property {number} charEnd
 * @property {number} probability
 */

/**
 * An answer to show.
 * @typedef {object} Shown
 * @property {boolean} isAnswerable
 * @property {number} probability
 * @property {number} nullOdds score of "no answer" less the best span's.
 * @property {boolean=} questionTruncated whether its end was not read.
 * @property {ShownSpan[]} spans the answer: one span, or all of a bio head.
 * @property {ShownSpan[]} entries what is listed.
 * @property {boolean} areSpans whether the list is the answer itself.
 * @property {{charStart: number, charEnd: number}[]} windows in which the
 *     passage was read; empty where that is not known.
 */

const byId = (id) => document.getElementById(id);
const query = new URLSearchParams(location.search);

// What both pages have below their fields, and beside the form.
const EXAMPLES = `
<div id="examples" hidden>
  <p class="quiet">Or try an example:</p>
  <div id="topics" class="chips"></div>
  <div id="questions" class="chips"></div>
</div>
`;
const ANSWER = `
<div>
  <section id="waiting" class="quiet">The answer appears here.</section>
  <section id="error" role="alert" tabindex="-1" hidden>
    <h2 id="error-title"></h2>
    <p id="error-text"></p>
  </section>
  <section id="result" aria-live="polite" hidden>
    <p id="decision" dir="auto"></p>
    <p id="facts" class="quiet"></p>
    <details id="meaning">
      <summary>What these numbers mean</summary>
      <p class="quiet">Probable: how sure the model is, from 0 to 100 %. Null odds: the score of "no answer" less that of the best span; the higher they are, the more speaks against an answer, and above the model's threshold it gives none.</p>
    </details>
    <h2>Passage</h2>
    <p id="passage" dir="auto" tabindex="0" aria-label="Passage with the answer marked"></p>
    <details id="windows" hidden>
      <summary id="windows-summary"></summary>
      <ol id="window-list" class="chips"></ol>
    </details>
    <h2><span id="entries-title">Candidates</span> <span class="quiet">choose one to see it in the passage</span></h2>
    <ol id="entries"></ol>
    <button id="more" type="button" hidden></button>
  </section>
</div>
`;
byId("form").insertAdjacentHTML("beforeend", EXAMPLES);
byId("form").insertAdjacentHTML("afterend", ANSWER);

// Candidates shown before all are asked for.
const FIRST_ENTRIES = 5;

/** An error whose title and text are shown as they are. */
class Problem extends Error {
  constructor(title, text) {
    super(title);
    this.title = title;
    this.text = text;
  }
}

/** Replaces lone surrogates, which UTF-8 cannot hold. */
function wellFormedText(text) {
  return text.replace(/\p{Surrogate}/gu, "\ufffd");
}

function showError(problem) {
  byId("waiting").hidden = true;
  byId("result").hidden = true;
  byId("error-title").textContent = problem.title;
  byId("error-text").textContent = problem.text;
  byId("error").hidden = false;
  byId("error").focus();
}

/**
 * Marks places of the passage, which are in order and do not overlap.
 *
 * JavaScript strings are UTF-16, where a character such as an emoji has two
 * units. So the passage is cut as an array of code points.
 */
function mark(points, places, className = "") {
  const passage = byId("passage");
  passage.replaceChildren();
  let end = 0;
  for (const {charStart, charEnd} of places) {
    const ok = [charStart, charEnd].every(Number.isInteger) &&
      end <= charStart && charStart < charEnd && charEnd <= points.length;
    if (!ok) continue;
    const marked = document.createElement("mark");
    marked.className = className;
    marked.textContent = points.slice(charStart, charEnd).join("");
    passage.append(points.slice(end, charStart).join(""), marked);
    end = charEnd;
  }
  passage.append(points.slice(end).join(""));
  const first = passage.querySelector("mark");
  if (!first) return;
  // Only within the passage: the page itself stays where it is.
  const offset = first.getBoundingClientRect().top -
    passage.getBoundingClientRect().top;
  passage.scrollTop += offset - passage.clientHeight / 3;
}

function percent(probability) {
  return `${(100 * Number(probability)).toFixed(1)} %`;
}

function makeButton(text, onClick) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = text;
  button.setAttribute("aria-pressed", "false");
  button.addEventListener("click", () => onClick(button));
  return button;
}

function inItem(button) {
  const item = document.createElement("li");
  item.append(button);
  return item;
}

/** Presses one button of those in some elements, and no other. */
function press(pressed, selector) {
  for (const button of document.querySelectorAll(`:is(${selector}) button`)) {
    button.setAttribute("aria-pressed", String(button === pressed));
  }
}

/** One entry of the list: a button with its bar. */
function entryItem(entry, onChoose) {
  const bar = document.createElement("span");
  bar.className = "bar";
  bar.style.width = `${Math.min(100, Math.max(0, 100 * entry.probability))}%`;
  const text = document.createElement("span");
  text.className = entry.text ? "entry-text" : "entry-text none";
  text.dir = "auto";
  text.textContent = entry.text || "no answer";
  const share = document.createElement("span");
  share.className = "percent";
  share.textContent = percent(entry.probability);
  const button = makeButton("", onChoose);
  button.append(bar, text, share);
  return inItem(button);
}

/** @param {Shown} shown */
function showAnswer(shown, context, milliseconds) {
  const points = Array.from(context);
  const choose = (place, className) => (button) => {
    press(button, "#entries, #window-list");
    mark(points, [place], className);
  };
  const items =
    shown.entries.map((entry) => entryItem(entry, choose(entry, "")));
  byId("waiting").hidden = true;
  byId("error").hidden = true;
  byId("result").hidden = false;
  byId("entries-title").textContent = shown.areSpans ? "Spans" : "Candidates";
  showEntries(items);
  showDecision(shown, milliseconds);
  showWindows(shown.windows, choose);
  mark(points, shown.spans);
  byId("result").scrollIntoView({block: "nearest"});
  const best = shown.entries.findIndex(
    (entry) => entry.text === (shown.spans[0]?.text ?? ""));
  items.forEach((item, i) => {
    const isMarked = shown.areSpans || i === best;
    item.firstChild.setAttribute("aria-pressed", String(isMarked));
  });
}

/** The first candidates, and a button for the others. */
function showEntries(items) {
  byId("entries").replaceChildren(...items);
  const others = items.slice(FIRST_ENTRIES);
  for (const item of others) item.hidden = true;
  const more = byId("more");
  more.textContent = `Show all ${items.length}`;
  more.hidden = others.length === 0;
  more.onclick = () => {
    for (const item of others) item.hidden = false;
    more.hidden = true;
    others[0].firstChild.focus();
  };
}

/** @param {Shown} shown */
function showDecision(shown, milliseconds) {
  const {spans} = shown;
  const decision = byId("decision");
  decision.textContent = shown.isAnswerable
    ? spans.map((span) => span.text).join("; ") : "No answer in this passage";
  decision.className = shown.isAnswerable ? "" : "none";
  const facts = [`${percent(shown.probability)} probable`];
  if (shown.isAnswerable) {
    facts.push(`characters ${spans[0].charStart} to ${spans[0].charEnd}`);
  }
  // Each span has its own probability, in the list.
  if (spans.length > 1) facts.splice(0, 2, `${spans.length} spans`);
  // Far above any difference of scores: no span was possible.
  if (Number.isFinite(shown.nullOdds) && shown.nullOdds < 1e6) {
    facts.push(`null odds ${shown.nullOdds.toFixed(2)}`);
  }
  if (shown.questionTruncated) facts.push("the end of the question was not read");
  byId("facts").textContent =
    [...facts, `${Math.round(milliseconds)} ms`].join(" · ");
}

/** The windows of a passage that was read in several. */
function showWindows(windows, choose) {
  byId("windows").hidden = windows.length < 2;
  byId("windows-summary").textContent =
    `The passage was read in ${windows.length} overlapping windows`;
  byId("window-list").replaceChildren(...windows.map((place, i) => {
    const text = `${i + 1}: characters ${place.charStart} to ${place.charEnd}`;
    return inItem(makeButton(text, choose(place, "window")));
  }));
}

/**
 * Example passages with questions, where the page's server has some.
 * `bert_span.serve` has them; other places of the page need none.
 */
async function showExamples(submit) {
  if (!location.protocol.startsWith("http")) return;
  const response = await fetch("examples.json");
  if (!response.ok) return;
  const ask = (question) => (button) => {
    press(button, "#questions");
    byId("question").value = question;
    submit();
  };
  const topics = (await response.json()).map(({title, passage, questions}) =>
    makeButton(title, (button) => {
      press(button, "#topics");
      byId("context").value = passage;
      const buttons = questions.map((text) => makeButton(text, ask(text)));
      byId("questions").replaceChildren(...buttons);
      buttons[0].click();
    }));
  byId("topics").replaceChildren(...topics);
  byId("examples").hidden = false;
}

/**
 * Starts the page.
 * @param {function(string, string): Promise<Shown>} ask answers a question.
 * @param {function(): void} finished is called after each question.
 */
function startPage(ask, finished = () => {}) {
  async function submit() {
    const button = byId("ask");
    if (button.disabled) return;
    button.disabled = true;
    button.textContent = "Asking …";
    try {
      const question = wellFormedText(byId("question").value);
      const context = wellFormedText(byId("context").value);
      if (!question.trim()) {
        throw new Problem("There is no question", "Write one above the passage.");
      }
      if (!context.trim()) {
        throw new Problem("The passage is empty", "Paste the text to be asked.");
      }
      const start = performance.now();
      const shown = await ask(question, context);
      showAnswer(shown, context, performance.now() - start);
    } catch (error) {
      showError(error instanceof Problem ? error
        : new Problem("This page failed", String(error)));
    } finally {
      button.disabled = false;
      button.textContent = "Ask";
      finished();
    }
  }
  byId("question").value = query.get("question") ?? "";
  byId("context").value = query.get("context") ?? "";
  byId("form").addEventListener("submit", (event) => {
    event.preventDefault();
    submit();
  });
  // An example that was changed is none.
  byId("question").addEventListener("input", () => press(null, "#questions"));
  byId("context").addEventListener("input",
    () => press(null, "#topics, #questions"));
  byId("context").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) submit();
  });
  showExamples(submit);
  if (query.get("question") && query.get("context")) submit();
}
