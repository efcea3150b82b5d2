import { z } from "zod";
import { DEFAULT_REPLAY_RATE, type Operations, type Replay } from "../../custody/operations.ts";
import { previewAnswer } from "../acted.ts";
import type { Endpoint } from "../endpoint.ts";
import { auditFilter, BACKWARD, isForward, isoTime } from "../filters.ts";
import { integer } from "../parameters.ts";
import { Refused } from "../refusals.ts";
import { progressAnswer, started } from "../replay-answer.ts";
import { LETTER_FIELDS, ownFilter } from "./dead-letters.ts";
import { type Holder, own, OwnRoutes } from "./holder.ts";

/** Most replays of one destination that have not ended, and that are known at all: each is a record for 7 days. */
const MAX_OPEN = 10;
const MAX_KNOWN = 100;

/** `POST /v1/replays`: sends all dead letters that fit again, at a rate. */
export const createOwnReplay = own({
  operation: "createOwnReplay",
  method: "POST",
  path: "/v1/replays",
  takesIdempotencyKey: true,
  body: z.strictObject({
    filter: z.strictObject(LETTER_FIELDS).refine(isForward, BACKWARD),
    rate: integer(1, DEFAULT_REPLAY_RATE).default(DEFAULT_REPLAY_RATE),
    preview: z.boolean({ error: "must be true or false" }).default(false),
  }),
  handle: async ({ caller, body, idempotencyKey, directory, custody }) => {
    const { destination: known } = caller;
    const filter = ownFilter(directory, known, body.filter, "filter.");
    const { operations } = custody(known.namespace);
    if (body.preview) return previewAnswer(await operations.countDeadLetters(filter));
    const key = idempotencyKey === undefined ? {} : { key: JSON.stringify([caller.name, idempotencyKey]) };
    const mayCreate = () => demandRoom(operations, known.destination);
    const request = { filter, rate: body.rate, owner: known.destination, mayCreate, ...key };
    const { replay, created } = await started(operations.startReplay(request));
    const { id, total, rate } = replay;
    const audit = { replay: id, created, filter: auditFilter(body.filter), rate, total };
    return { status: created ? 201 : 200, body: replayAnswer(replay, new OwnRoutes(directory, known)), audit };
  },
});

/** `GET /v1/replays`: those of the holders of this destination, newest first. */
export const listOwnReplays = own({
  operation: "listOwnReplays",
  method: "GET",
  path: "/v1/replays",
  handle: async ({ caller: { destination: known }, directory, custody }) => {
    const routes = new OwnRoutes(directory, known);
    const replays = await custody(known.namespace).operations.replays(known.destination);
    return { body: { items: replays.map((replay) => replayAnswer(replay, routes)) } };
  },
});

/** `GET /v1/replays/{replay}`: how far it has come. */
export const getOwnReplay = own({
  operation: "getOwnReplay",
  method: "GET",
  path: "/v1/replays/{replay}",
  handle: async ({ caller: { destination: known }, path, directory, custody }) => {
    const replay = await ownReplay(custody(known.namespace).operations, path.replay, known.destination);
    return { body: replayAnswer(replay, new OwnRoutes(directory, known)) };
  },
});

const STEPS = { pause: "paused", resume: "running", cancel: "cancelled" } as const;

/** `POST /v1/replays/{replay}/pause`, `resume` and `cancel`. One that has ended stays as it is. */
export const OWN_REPLAY_STEPS: readonly Endpoint<Holder>[] = Object.entries(STEPS).map(([step, to]) =>
  own({
    operation: `${step}OwnReplay`,
    method: "POST",
    path: `/v1/replays/{replay}/${step}` as "/v1/replays/{replay}/pause",
    handle: async ({ caller: { destination: known }, path: { replay: id }, directory, custody }) => {
      const { operations } = custody(known.namespace);
      await ownReplay(operations, id, known.destination);
      const replay = await operations.steerReplay(id, to);
      if (replay === undefined) throw new Refused("NoSuchReplay");
      const { state, replayed } = replay;
      return { body: replayAnswer(replay, new OwnRoutes(directory, known)), audit: { state, replayed } };
    },
  }),
);

/** @throws Refused `NoSuchReplay`, also for one of others or of operators */
async function ownReplay(operations: Operations, id: string, owner: string): Promise<Replay> {
  const replay = await operations.replay(id);
  if (replay?.owner !== owner) throw new Refused("NoSuchReplay");
  return replay;
}

/** @throws Refused `TooManyReplays` */
async function demandRoom(operations: Operations, owner: string): Promise<void> {
  const replays = await operations.replays(owner);
  const open = replays.filter(({ state }) => state === "running" || state === "paused");
  if (open.length >= MAX_OPEN || replays.length >= MAX_KNOWN) throw new Refused("TooManyReplays");
}

function replayAnswer(replay: Replay, routes: OwnRoutes): object {
  const { route, from, to, reason, eventType } = replay.filter;
  return progressAnswer(replay, {
    ...(route !== undefined && { route: routes.nameOf(route) }),
    ...(from !== undefined && { from: isoTime(from) }),
    ...(to !== undefined && { to: isoTime(to) }),
    ...(reason !== undefined && { reason }),
    ...(eventType !== undefined && { eventType }),
  });
}
