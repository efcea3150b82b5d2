/** Something wrong with a config. Never holds a value of type text: it might be a secret in the wrong place. */
export interface ConfigProblem {
  /** The key, for example `gateway.hosts[0].via`, or the environment variable. */
  readonly where: string;
  readonly message: string;
}

/** A config that cannot be used. The message lists every problem, a line each. */
export class ConfigError extends Error {
  readonly code = "Config";
  /** Empty when the file could not be read at all. */
  readonly problems: readonly ConfigProblem[];

  constructor(message: string, problems: readonly ConfigProblem[] = []) {
    super(message);
    this.name = "ConfigError";
    this.problems = problems;
  }
}
