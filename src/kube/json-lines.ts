const NEWLINE = 0x0a;

/** Splits bytes into the JSON values of its lines, as a watch sends them. A line may come in any number of chunks. */
export class JsonLines {
  #rest: Uint8Array[] = [];

  /**
   * The values that this chunk completes.
   * @throws SyntaxError for a line that is no JSON; what came before it has been yielded
   */
  *push(chunk: Uint8Array): Generator {
    let from = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, from)) {
      this.#rest.push(chunk.subarray(from, end));
      const line = Buffer.concat(this.#rest).toString("utf8");
      this.#rest = [];
      from = end + 1;
      if (line !== "") yield JSON.parse(line);
    }
    if (from < chunk.length) this.#rest.push(chunk.subarray(from));
  }
}
