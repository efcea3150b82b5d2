import { z } from "zod";
import { DEFAULT_REPLAY_RATE, MAX_REPLAY_RATE, type Replay } from "../custody/operations.ts";
import type { Right } from "./access.ts";
import { previewAnswer } from "./acted.ts";
import type { Directory } from "./directory.ts";
import { type Endpoint, endpoint, type Surroundings } from "./endpoint.ts";
import { auditFilter, BACKWARD, custodyFilter, filterAnswer, isForward, LETTERS } from "./filters.ts";
import { demandNamespace, routeNamed, routeNames } from "./naming.ts";
import { integer, routeName } from "./parameters.ts";
import { Refused } from "./refusals.ts";
import { progressAnswer, started } from "./replay-answer.ts";

const PLACE = "/v1/namespaces/{namespace}/replays";
const ON = "webhookroutes/replays";

interface Place extends Surroundings {
  readonly path: { readonly namespace: string };
}

/** `POST …/replays`: makes all dead letters that fit live again, at a rate. */
export const createReplay = endpoint({
  operation: "createReplay",
  method: "POST",
  path: PLACE,
  takesIdempotencyKey: true,
  body: z.strictObject({
    filter: z.strictObject(LETTERS).refine(isForward, BACKWARD),
    rate: integer(1, MAX_REPLAY_RATE).default(DEFAULT_REPLAY_RATE),
    preview: z.boolean({ error: "must be true or false" }).default(false),
  }),
  rights: ({ path: { namespace }, body }) => [{ verb: "create", on: ON, namespace, name: body.filter.route ?? "" }],
  handle: async ({ path: { namespace }, body, idempotencyKey, caller, directory, custody }) => {
    const filter = custodyFilter({ directory, namespace }, body.filter, "filter.");
    const { operations } = custody(namespace);
    if (body.preview) return previewAnswer(await operations.countDeadLetters(filter));
    // Keys of different callers have nothing to do with each other.
    const key = idempotencyKey === undefined ? {} : { key: JSON.stringify([caller.name, idempotencyKey]) };
    const { replay, created } = await started(operations.startReplay({ filter, rate: body.rate, ...key }));
    const audit = {
      replay: replay.id,
      created,
      filter: auditFilter(body.filter),
      rate: body.rate,
      total: replay.total,
    };
    return { status: created ? 201 : 200, body: replayAnswer(replay, directory, namespace), audit };
  },
});

/** `GET …/replays`: the newest 100. */
export const listReplays = endpoint({
  operation: "listReplays",
  method: "GET",
  path: PLACE,
  query: z.strictObject({ route: routeName.optional() }),
  rights: ({ path: { namespace }, query }) => [{ verb: "list", on: ON, namespace, name: query.route ?? "" }],
  handle: async ({ path: { namespace }, query, directory, custody }) => {
    demandNamespace(directory, namespace);
    const route = query.route === undefined ? undefined : routeNamed(directory, namespace, query.route).route;
    const replays = await custody(namespace).operations.replays();
    const fitting = replays.filter(({ filter }) => route === undefined || filter.route === route);
    return { body: { items: fitting.map((replay) => replayAnswer(replay, directory, namespace)) } };
  },
});

/** `GET …/replays/{replay}`: how far it has come. */
export const getReplay = endpoint({
  operation: "getReplay",
  method: "GET",
  path: `${PLACE}/{replay}`,
  rights: (call) => ofReplay("get", call),
  handle: async ({ path: { namespace, replay: id }, directory, custody }) => {
    demandNamespace(directory, namespace);
    const replay = await custody(namespace).operations.replay(id);
    if (replay === undefined) throw new Refused("NoSuchReplay");
    return { body: replayAnswer(replay, directory, namespace) };
  },
});

const STEPS = { pause: "paused", resume: "running", cancel: "cancelled" } as const;

/** `POST …/replays/{replay}/pause`, `resume` and `cancel`. One that has ended stays as it is. */
export const REPLAY_STEPS: readonly Endpoint[] = Object.entries(STEPS).map(([step, to]) =>
  endpoint({
    operation: `${step}Replay`,
    method: "POST",
    path: `${PLACE}/{replay}/${step}` as `${typeof PLACE}/{replay}/pause`,
    rights: (call) => ofReplay("update", call),
    handle: async ({ path: { namespace, replay: id }, directory, custody }) => {
      demandNamespace(directory, namespace);
      const replay = await custody(namespace).operations.steerReplay(id, to);
      if (replay === undefined) throw new Refused("NoSuchReplay");
      const { state, replayed } = replay;
      return { body: replayAnswer(replay, directory, namespace), audit: { state, replayed } };
    },
  }),
);

/** A replay of one route's dead letters needs the right to that route; any other one, and one that is not there, to all of the namespace. */
async function ofReplay(
  verb: Right["verb"],
  { path: { namespace, replay: id }, directory, custody }: Place & { readonly path: { readonly replay: string } },
): Promise<readonly Right[]> {
  // A namespace that anybody can invent is not worth a question to the store.
  const isKnown = directory.routes(namespace).length > 0 || directory.destinations(namespace).length > 0;
  const replay = isKnown ? await custody(namespace).operations.replay(id) : undefined;
  const route = replay?.filter.route;
  const name = route === undefined ? null : routeNames(directory, namespace)(route);
  // Of a replay that somebody may not see a refusal tells nothing, not even whether it is there.
  return [{ verb, on: ON, namespace, name: name ?? "", shown: "" }];
}

function replayAnswer(replay: Replay, directory: Directory, namespace: string): object {
  return progressAnswer(replay, filterAnswer(directory, namespace, replay.filter));
}
