import { answerProblems } from "../api-schema.ts";
import type { ChainListener } from "./chain.ts";
import { documentOf, type Listener } from "./documents.ts";

/** Bodies of the operations that need one. */
const BODIES: Readonly<Record<string, unknown>> = {
  publishEvents: [{ type: "order.paid", data: 1 }],
  discardDeadLetters: { filter: {} },
  restoreDeadLetters: { filter: {} },
  cancelCopies: { filter: { route: "orders" } },
  holdDestination: { forSeconds: 60 },
  testDestination: { route: "orders" },
  createReplay: { filter: {} },
  createOwnReplay: { filter: {} },
};

/** How an operation answered. */
export interface Answered {
  readonly operation: string;
  readonly status: number;
  /** Value of `Retry-After`. */
  readonly retryAfter: string | null;
  /** How it differs from its description. */
  readonly problems: readonly string[];
}

/** Fewer than one caller may have in flight. */
const AT_A_TIME = 12;

interface Operation {
  readonly path: string;
  readonly method: string;
  readonly operation: string;
}

function operationsOf(listener: Listener): readonly Operation[] {
  return Object.entries(documentOf(listener).paths).flatMap(([path, item]) =>
    Object.entries(item).flatMap(([method, { operationId: operation }]) =>
      operation === undefined ? [] : [{ path, method, operation }],
    ),
  );
}

/** Calls every operation of a listener once, with what could be right. */
export async function callEveryOperation(listener: Listener, served: ChainListener): Promise<readonly Answered[]> {
  const left = operationsOf(listener).map((operation, index) => ({ operation, index }));
  const answers: Answered[] = [];
  while (left.length > 0) {
    const some = left.splice(0, AT_A_TIME);
    answers.push(...(await Promise.all(some.map(({ operation, index }) => call(listener, served, operation, index)))));
  }
  return answers;
}

async function call(
  listener: Listener,
  { url, tokens, known }: ChainListener,
  { path, method, operation }: Operation,
  index: number,
): Promise<Answered> {
  const values: Readonly<Record<string, string>> = {
    namespace: known.namespace,
    route: known.reaching,
    destination: known.destinations[1] ?? "",
    event: known.events[0] ?? "",
    replay: "0".repeat(20),
    policy: known.policies[0] ?? "",
    // One that is there is told without custody.
    run: "never-asked-for",
  };
  const response = await fetch(url + path.replaceAll(/\{(\w+)\}/g, (_, name: string) => values[name] ?? ""), {
    method: method.toUpperCase(),
    headers: { authorization: `Bearer ${tokens[index % tokens.length]}` },
    ...(BODIES[operation] !== undefined && { body: JSON.stringify(BODIES[operation]) }),
  });
  const { status, headers } = response;
  const of = listener === "holder" ? "holder" : "api";
  const problems = answerProblems({ path, method, of }, { status, headers, body: await response.json() });
  return { operation, status, retryAfter: headers.get("retry-after"), problems };
}
