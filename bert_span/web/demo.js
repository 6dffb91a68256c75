/** Asks a model server, see demo.html. */

"use strict";

/** The URL of the predict API: what was typed, checked. */
function predictUrl() {
  const typed = byId("server").value.trim();
  let url;
  try {
    url = new URL(typed);
  } catch {
    url = null;
  }
  if (!url || !["http:", "https:"].includes(url.protocol)) {
    throw new Problem("This is no address of a server",
      `${typed || "(empty)"}\nWrite one such as http://localhost:8501, the ` +
      "REST port of the server.");
  }
  const model = byId("model").value.trim();
  if (!model) {
    throw new Problem("The name of the model is missing",
      "Write it under Server; models.config of the server has it.");
  }
  const version = byId("version").value.trim();
  const kind = /^\d+$/.test(version) ? "versions" : "labels";
  const choice = version ? `/${kind}/${encodeURIComponent(version)}` : "";
  const base = url.origin + url.pathname.replace(/\/+$/, "");
  return `${base}/v1/models/${encodeURIComponent(model)}${choice}:predict`;
}

/** Sends one question; gives the row of outputs. */
async function ask(url, question, context) {
  const seconds = Number(query.get("timeout")) || 30;
  const abort = new AbortController();
  const timer = setTimeout(() => abort.abort(), 1000 * seconds);
  try {
    const response = await fetch(url, {
      method: "POST",
      // Bytes have no Content-Type. So the browser does not ask the server
      // first whether it may (OPTIONS), and servers take them for JSON, which
      // KServe does with no other simple type.
      body: new TextEncoder().encode(JSON.stringify({
        signature_name: "serving_default",
        instances: [
          {question, context},
        ],
      })),
      credentials: "omit",
      signal: abort.signal,
    });
    const body = await response.text();
    if (!response.ok) throw refusal(response, body, url);
    return rowOf(body, url);
  } catch (error) {
    if (error instanceof Problem) throw error;
    if (abort.signal.aborted) {
      throw new Problem(`No answer within ${seconds} s`,
        `${url}\nThe server is busy or the passage very long. Try again, or ` +
        "add &timeout=120 to this page's address.");
    }
    throw await unreachable(url);
  } finally {
    clearTimeout(timer);
  }
}

/** Why fetch failed. Browsers do not say, so see whether a server listens. */
async function unreachable(url) {
  if (location.protocol === "https:" && url.startsWith("http:")) {
    return new Problem("The browser blocks this address",
      `${url}\nThis page came over https and may not ask over http. Open it ` +
      "from a file or over http, or serve the model over https.");
  }
  try {
    await fetch(url.replace(/:predict$/, ""), {
      mode: "no-cors", credentials: "omit", signal: AbortSignal.timeout(3000),
    });
  } catch {
    return new Problem("The server cannot be reached",
      `${url}\nIs it running, and is this its REST port (--rest_api_port, ` +
      "often 8501)?");
  }
  return new Problem("The server does not allow this page (CORS)",
    `${url}\nIt runs, but its replies may not be read by pages of other ` +
    "sites. Start TensorFlow Serving with --rest_api_enable_cors_support.");
}

function refusal(response, body, url) {
  let said = body.slice(0, 500);
  try {
    said = String(JSON.parse(body).error ?? said).slice(0, 500);
  } catch { /* not JSON: shown as it is */ }
  const remedies = {
    400: "The model's inputs are not question and context, the request is " +
      "larger than the server allows, or the server has no versions and labels.",
    401: "The server wants a token, which this page does not send.",
    403: "The server refuses this page.",
    404: "Is this the name of the model, and is this version loaded? See " +
      "models.config of the server.",
    429: "The server has too much to do. Try again.",
    503: "The server is starting or has too much to do. Try again.",
    504: "The server gave up: its --rest_api_timeout_in_ms is too short.",
  };
  return new Problem(`The server says ${response.status}`,
    [url, said, remedies[response.status] ?? "See the server's log."].join("\n"));
}

/** The row of outputs in a reply, checked. */
function rowOf(body, url) {
  const strange = (what) => new Problem("The reply is not that of a span model",
    `${url}\n${what}\n${body.slice(0, 300)}`);
  let reply;
  try {
    reply = JSON.parse(body);
  } catch {
    throw strange("It is no JSON.");
  }
  const row = reply?.predictions?.[0];
  if (typeof row !== "object" || row === null) {
    throw strange("It has no predictions.");
  }
  if (typeof row.answer !== "string" || !entriesOf(row)) {
    throw strange("Outputs of the signature serving_default are missing.");
  }
  return row;
}

/**
 * What the row lists, without the padding; null where that is damaged. The
 * column with the number of entries, NAME_count, says which ones are lists:
 * those that begin with NAME_. The one with texts is the entries' text.
 */
function entriesOf(row) {
  const count = Object.keys(row).find((name) => name.endsWith("_count"));
  if (!count || !Number.isInteger(row[count])) return null;
  const prefix = count.slice(0, -"count".length);
  const columns = Object.entries(row).filter(([name]) =>
    name.startsWith(prefix) && name !== count);
  if (!columns.every(([, values]) =>
    Array.isArray(values) && values.length >= row[count])) return null;
  return Array.from({length: row[count]}, (_, i) => {
    const entry = {};
    for (const [name, values] of columns) {
      const isText = typeof values[i] === "string";
      entry[isText ? "answer" : name.slice(prefix.length)] = values[i];
    }
    return shownEntry(entry);
  });
}

/** An answer or an entry, as page.js shows it. */
function shownEntry(values) {
  return {
    text: values.answer,
    charStart: values.char_start,
    charEnd: values.char_end,
    probability: values.probability,
    isCandidate: "is_answerable" in values,
  };
}

/**
 * A row of outputs, as page.js shows it.
 * @return {Shown}
 */
function shownRow(row, windows) {
  const entries = entriesOf(row);
  // Candidates say of each whether it is an answer; else all of them are it.
  const areSpans = !entries.some((entry) => entry.isCandidate);
  return {
    isAnswerable: row.is_answerable,
    probability: row.probability,
    nullOdds: row.null_odds,
    questionTruncated: row.question_truncated,
    spans: areSpans ? entries : [shownEntry(row)],
    entries,
    areSpans,
    windows,
  };
}

/** The windows of a passage; bert_span.serve says them, other servers do not. */
async function windowsOf(question, context) {
  if (query.has("server") || !location.protocol.startsWith("http")) return [];
  const response = await fetch("windows", {
    method: "POST", body: JSON.stringify({question, context}),
  });
  return response.ok ? response.json() : [];
}

function describeServer() {
  const version = byId("version").value.trim();
  byId("server-summary").textContent = "Server: " +
    [byId("server").value.trim() || "not given", byId("model").value.trim(),
      version].filter(Boolean).join(" · ");
}

byId("server").value = query.get("server") ??
  (location.protocol === "file:" ? "http://localhost:8501" : location.origin);
byId("model").value = query.get("model") ?? "bert_span";
byId("version").value = query.get("version") ?? query.get("label") ?? "";
for (const id of ["server", "model", "version"]) {
  byId(id).addEventListener("input", describeServer);
}
describeServer();
startPage(async (question, context) => {
  const row = await ask(predictUrl(), question, context);
  return shownRow(row, await windowsOf(question, context));
}, describeServer);
