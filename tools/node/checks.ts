/** One check: a line of the output. */
export interface Check {
  readonly name: string;
  /** Most it may take, seconds. */
  readonly limit: number;
  /** @returns a figure for the line, if there is one; throws when the check fails */
  readonly run: () => Promise<string | void>;
}

/**
 * Runs checks in their order, a line each with its time, until the first that fails.
 *
 * @param say prints a line
 * @returns the error of the check that failed, `undefined` when all passed
 */
export async function runChecks(checks: readonly Check[], say: (line: string) => void): Promise<Error | undefined> {
  for (const { name, limit, run } of checks) {
    const begin = performance.now();
    const took = () => `${String(Math.round(performance.now() - begin)).padStart(6)} ms`;
    try {
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      const figure = await within(limit, run());
      say(`ok   ${took()}  ${name}${figure === undefined ? "" : `: ${figure}`}`);
    } catch (error) {
      say(`FAIL ${took()}  ${name}: ${error instanceof Error ? error.message : String(error)}`);
      return error instanceof Error ? error : new Error(String(error));
    }
  }
  return undefined;
}

async function within<T>(seconds: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not done within ${seconds} s`)), seconds * 1_000);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * Asks until the answer is good.
 *
 * @param ask returns `undefined` when it is, else what is wrong with it; an error counts as wrong
 * @throws Error with what was wrong last
 */
export async function eventually(seconds: number, ask: () => Promise<string | undefined>): Promise<void> {
  const end = performance.now() + seconds * 1_000;
  for (;;) {
    // oxlint-disable-next-line no-await-in-loop -- one after the other
    const wrong = await ask().catch((error: unknown) => (error instanceof Error ? error.message : String(error)));
    if (wrong === undefined) return;
    if (performance.now() > end) throw new Error(`after ${seconds} s: ${wrong}`);
    // oxlint-disable-next-line no-await-in-loop -- one after the other
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
