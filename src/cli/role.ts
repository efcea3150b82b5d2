import { once } from "node:events";
import type { Server } from "node:http";
import { loadConfig } from "../config/load.ts";
import type { Config } from "../config/schema.ts";
import { stopSignals } from "../lib/stop-signals.ts";
import { type Command, parse, UsageError } from "./command.ts";

/** Time for the last output to be written, ms. */
const LINGER_MS = 200;

/** What a role that runs until a signal ends it is made of. */
export interface Role<C = Config> {
  readonly name: string;
  readonly summary: string;
  /** What the role does, for `--help`. */
  readonly about: string;
  /** Starts everything. @returns ends it in order; called once */
  readonly start: (config: C) => Promise<() => Promise<void>>;
}

/** A role that may do without a config file. */
interface OwnConfigRole<C> extends Role<C> {
  /** @throws ConfigError */
  readonly load: (file: string | undefined) => C;
}

/** The subcommand of a role: `davit NAME --config FILE`. SIGTERM ends it in order with exit code 0, a second one at once. */
export function roleCommand(role: Role): Command {
  return ownConfigRoleCommand({ ...role, load: loadNamed });
}

function loadNamed(file: string | undefined): Config {
  if (!file) throw new UsageError("name the config with --config FILE or DAVIT_CONFIG");
  return loadConfig(file, process.env);
}

/** {@link roleCommand} of a role that reads its config itself. */
export function ownConfigRoleCommand<C>({ name, summary, about, start, load }: OwnConfigRole<C>): Command {
  return {
    name,
    summary,
    usage: `davit ${name} --config FILE

${about}

  --config FILE   YAML; default $DAVIT_CONFIG. DAVIT_* variables override its scalars
`,
    async run(argv) {
      const { values } = parse(argv, { config: { type: "string" } });
      const config = load(values.config ?? process.env["DAVIT_CONFIG"]);
      const signals = stopSignals();
      const stop = await started(start(config));
      if (!signals.signal.aborted) await once(signals.signal, "abort");
      await stop();
      // What is left open by then, such as a client that goes on trying for a Redis that is gone, holds nobody.
      setImmediate(() => process.exit(0));
      return 0;
    },
  };
}

/** What a start that failed has left open must not keep the process. */
async function started<T>(starting: Promise<T>): Promise<T> {
  try {
    return await starting;
  } catch (error) {
    setTimeout(() => process.exit(1), LINGER_MS).unref();
    throw error;
  }
}

/** Ends a server at once. */
export function closeNow(server: Server): void {
  server.close();
  server.closeAllConnections();
}
