import { createServer } from "node:http";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { listen, portOf } from "../../src/lib/listen.ts";
import { findSchemathesis } from "../../tools/schemathesis/schemathesis.ts";
import { type Chain, startChain } from "../support/api-tester/chain.ts";
import { callEveryOperation } from "../support/api-tester/every-operation.ts";
import { documentOf, LISTENERS, withOperations } from "../support/api-tester/documents.ts";
import { runSchemathesis } from "../support/api-tester/run.ts";

// A run can be repeated with DAVIT_TEST_SEED, and made longer with DAVIT_TEST_API_SECONDS: so long each listener is tested.
const SEED = Number(process.env["DAVIT_TEST_SEED"] ?? 20_261_130);
const SECONDS = process.env["DAVIT_TEST_API_SECONDS"];
/** Generated cases of each operation, beside those that are made of its description alone. */
const EXAMPLES = 3;
const DEADLINE_MS = 300_000 + 4_000 * Number(SECONDS ?? 0);

let program: string;
let chain: Chain;

beforeAll(async () => {
  program = findSchemathesis((line) => process.stderr.write(`schemathesis: ${line}\n`));
  chain = await startChain();
}, DEADLINE_MS);
afterAll(() => chain?.close());

const bounds = { seed: SEED, examples: EXAMPLES, seconds: SECONDS === undefined ? undefined : Number(SECONDS) };

describe("an OpenAPI-driven tester with all its checks", () => {
  it.each(LISTENERS)(
    "finds nothing at the %s listener that is not as described",
    async (listener) => {
      const { code, output } = await runSchemathesis({
        ...chain.listeners[listener],
        ...bounds,
        program,
        document: documentOf(listener),
      });
      expect({ code, output }).toEqual({ code: 0, output: expect.stringContaining("No issues found") });
    },
    DEADLINE_MS,
  );

  it(
    "would find an endpoint that fails, and one whose answer is not as described",
    async () => {
      const broken = createServer((request, response) => {
        const status = request.url?.startsWith("/v1/replays") === true ? 500 : 200;
        response.writeHead(status, { "content-type": "application/json" }).end('{"items":[{"id":"no"}]}');
      });
      await listen(broken, { port: 0, address: "127.0.0.1", remedy: "" });
      const { code, output } = await runSchemathesis({
        ...chain.listeners.holder,
        program,
        seed: SEED,
        examples: 1,
        url: `http://127.0.0.1:${portOf(broken)}`,
        document: withOperations(documentOf("holder"), (id) => id === "listDeliveries" || id === "listOwnReplays"),
      });
      broken.close();
      broken.closeAllConnections();
      expect(code).toBe(1);
      expect(output).toMatch(/Server error/);
      expect(output).toMatch(/Response violates schema/);
    },
    DEADLINE_MS,
  );
});

describe("while the store does not answer", () => {
  beforeAll(() => void process.kill(chain.dev.redisPid, "SIGSTOP"));
  afterAll(() => void process.kill(chain.dev.redisPid, "SIGCONT"));

  it.each(LISTENERS)(
    "every operation of the %s listener says so, and when to come again",
    async (listener) => {
      const answers = await callEveryOperation(listener, chain.listeners[listener]);
      expect(answers.length).toBeGreaterThan(0);
      expect(answers).toEqual(
        answers.map(({ operation }) => ({
          operation,
          status: 503,
          retryAfter: expect.stringMatching(/^[1-9]\d*$/),
          problems: [],
        })),
      );
    },
    DEADLINE_MS,
  );
});

describe("when the store is back", () => {
  it.each(LISTENERS)("every operation of the %s listener is served", async (listener) => {
    await expect
      .poll(async () => {
        const answers = await callEveryOperation(listener, chain.listeners[listener]);
        return answers.filter(({ status, problems }) => status >= 500 || problems.length > 0);
      })
      .toEqual([]);
  });
});
