// Publishes one event for each customer into a route, and may be run again at any time: what is in custody already is not enqueued a second time.
//
//   node digest.mjs CUSTOMERS.json [YYYY-Www]
//
// CUSTOMERS.json: [{"id": "…", …}]; what is in `url` is for destinations.mjs. DAVIT_API: URL of the API listener. DAVIT_ROUTE: NAMESPACE/NAME. DAVIT_TOKEN_FILE: file with the token, read for each request,
// as it is replaced while this runs. DAVIT_AT_ONCE: events in a request, at most and by default 500. The exit code is 0 when every event is in custody.
import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

const TRIES = 10;
const LONGEST_WAIT_S = 60;

const [customersFile, week = isoWeek(new Date())] = process.argv.slice(2);
const { DAVIT_API, DAVIT_ROUTE, DAVIT_TOKEN_FILE, DAVIT_AT_ONCE = "500" } = process.env;
if (!customersFile || !DAVIT_API || !DAVIT_ROUTE || !DAVIT_TOKEN_FILE) {
  throw new Error("usage: DAVIT_API=… DAVIT_ROUTE=… DAVIT_TOKEN_FILE=… node digest.mjs CUSTOMERS.json [YYYY-Www]");
}
const tokenFile = DAVIT_TOKEN_FILE;
const AT_ONCE = Number(DAVIT_AT_ONCE);
const [namespace, route] = DAVIT_ROUTE.split("/");
const endpoint = `${DAVIT_API}/v1/namespaces/${namespace}/routes/${route}/events`;

/** @typedef {{ status: string, error?: { code: string, message: string } }} Result */
/** @typedef {{ accepted: number, duplicates: number, results: Result[] }} Answer */
/** @typedef {{ id: string, url?: string }} Customer */

/** @type {Customer[]} */
const customers = JSON.parse(readFileSync(customersFile, "utf8"));
/** Nothing here may differ from run to run, such as the time: the same id with another text is refused. */
const events = customers.map(({ id, ...customer }) => ({
  id: `weekly-digest/${week}/${id}`,
  type: "digest.weekly",
  apiVersion: "2026-11-30",
  // The route takes the WebhookDestination with this id (idFrom).
  data: { customer: id, week, ...customer, url: undefined },
}));

let failures = 0;
for (let at = 0; at < events.length; at += AT_ONCE) {
  const chunk = events.slice(at, at + AT_ONCE);
  const { accepted, duplicates, results } = await publish(chunk, `weekly-digest/${week}/${at / AT_ONCE}`);
  console.log(
    `${week}, events ${at + 1} to ${at + chunk.length}: ${accepted} accepted, ${duplicates} were there already`,
  );
  results.forEach(({ error }, n) => {
    if (error === undefined) return;
    failures += 1;
    console.error(`${chunk[n]?.id}: ${error.code}: ${error.message}`);
  });
}
if (failures > 0) process.exitCode = 1;

/**
 * Sends a chunk until every event of it is in custody or refused for good.
 *
 * @param {object[]} chunk
 * @param {string} key
 * @returns {Promise<Answer>}
 */
async function publish(chunk, key) {
  for (let attempt = 1; ; attempt += 1) {
    const { status, retryAfter, answer } = await post(chunk, key);
    if (answer.results !== undefined && status !== 503) return answer;
    const isFinal = ![0, 408, 429].includes(status) && status < 500;
    if (isFinal || attempt === TRIES) throw new Error(`${status} ${answer.error}: ${answer.message}`);
    await sleep(Math.min(LONGEST_WAIT_S, retryAfter ?? 2 ** (attempt - 1)) * 1_000);
  }
}

/**
 * `status` 0: no answer.
 *
 * @param {object[]} chunk
 * @param {string} key
 * @returns {Promise<{ status: number, retryAfter?: number | undefined, answer: any }>}
 */
async function post(chunk, key) {
  try {
    const response = await fetch(endpoint, {
      method: "POST",
      headers: {
        authorization: `Bearer ${readFileSync(tokenFile, "utf8").trim()}`,
        "content-type": "application/json",
        "idempotency-key": key,
      },
      body: JSON.stringify(chunk),
      signal: AbortSignal.timeout(30_000),
    });
    const retryAfter = Number(response.headers.get("retry-after")) || undefined;
    return { status: response.status, retryAfter, answer: await response.json() };
  } catch (error) {
    const why = error instanceof Error ? (error.cause ?? error) : error;
    return { status: 0, answer: { error: "Unreachable", message: String(why) } };
  }
}

/**
 * ISO 8601 week of a day, in UTC: that of its Thursday.
 *
 * @param {Date} day
 */
function isoWeek(day) {
  const thursday = new Date(Date.UTC(day.getUTCFullYear(), day.getUTCMonth(), day.getUTCDate()));
  thursday.setUTCDate(thursday.getUTCDate() + 4 - (thursday.getUTCDay() || 7));
  const days = (thursday.getTime() - Date.UTC(thursday.getUTCFullYear(), 0, 1)) / 86_400_000;
  return `${thursday.getUTCFullYear()}-W${String(Math.floor(days / 7) + 1).padStart(2, "0")}`;
}
