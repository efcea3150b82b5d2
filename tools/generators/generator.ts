/** Makes one committed file from its source of truth. */
export interface Generator {
  /** Path from the root of the repository. */
  readonly output: string;
  /** What it is made from, for the message. */
  readonly source: string;
  generate(): Promise<string>;
}
