import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import type { EventView } from "../../custody/port.ts";
import { CommandError, printJson, UsageError } from "../command.ts";
import type { Call, Values } from "../destinations.ts";
import { readDevState } from "../dev/state.ts";
import { eventStory } from "../event-story.ts";
import { destinationOf, isShared, nameOf } from "./named.ts";

/** How long the outcome is waited for, and between two looks, ms. */
const WAIT_MS = 20_000;
const LOOK_MS = 100;

const ANSWER = z.object({ id: z.string() });
const REFUSAL = z.object({ message: z.string() });

/** `davit destinations test`: sends a test event and waits for what becomes of it. @returns the exit code: 1 when it was not delivered */
export async function test({ values, ids: [text = ""], access, io, format }: Call): Promise<number> {
  const console = consoleOf(values);
  const body = bodyOf(values);
  const found = await destinationOf(access, text);
  if (!isShared(found)) throw new CommandError(`${text} stands in its route: davit send posts an event to that`);
  const id = nameOf(access, found);
  const place = `/v1/namespaces/${found.namespace}/destinations/${encodeURIComponent(id)}/test`;
  const event = await outcome(await post(console, place, body), (sent) => access.ledger(found.namespace).event(sent));
  if (event === undefined) throw new CommandError("the test event is kept no longer");
  if (format === "json") printJson(io, { ...event, route: access.routeName(event.route) });
  else io.stdout.write(`${eventStory(event, access, Date.now()).join("\n")}\n`);
  return event.copies[0]?.state === "delivered" ? 0 : 1;
}

interface ConsolePlace {
  readonly url: string;
  readonly token: string;
}

/** @throws UsageError, CommandError */
function consoleOf(values: Values): ConsolePlace {
  if (values["redis-url"] !== undefined) {
    throw new UsageError("test: only davit dev tells which routes there are; in a cluster ask the operations API");
  }
  const state = readDevState(values["data-dir"]);
  if (state?.console === undefined) throw new CommandError(`no davit dev runs over ${values["data-dir"]}`);
  return state.console;
}

/** @throws UsageError */
function bodyOf({ route, type, data }: Values): object {
  return {
    // Of `namespace/name` the name: the destination tells the namespace.
    ...(route !== undefined && { route: route.slice(route.indexOf("/") + 1) }),
    ...(type !== undefined && { eventType: type }),
    ...(data !== undefined && { data: jsonFlag(data) }),
  };
}

function jsonFlag(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new UsageError("--data is no JSON");
  }
}

/** @returns the id of the event */
async function post({ url, token }: ConsolePlace, path: string, body: object): Promise<string> {
  const response = await fetch(`${url}${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  const answer: unknown = await response.json();
  if (response.ok) return ANSWER.parse(answer).id;
  throw new CommandError(REFUSAL.parse(answer).message);
}

/** Looks until an attempt has ended. */
async function outcome(
  id: string,
  look: (id: string) => Promise<EventView | undefined>,
): Promise<EventView | undefined> {
  for (const end = performance.now() + WAIT_MS; ; await sleep(LOOK_MS)) {
    const event = await look(id);
    const state = event?.copies[0]?.state ?? "";
    if (!["waiting", "active"].includes(state) || performance.now() > end) return event;
  }
}
