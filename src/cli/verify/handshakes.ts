import { CommandError, type Io } from "../command.ts";

/**
 * `davit verify --handshakes FILE`: replays recorded handshakes against the gateway's code.
 *
 * @returns 0 when every answer was as recorded, else 1
 */
export async function replayHandshakes(file: string, _io: Io): Promise<number> {
  return Promise.reject(new CommandError(`--handshakes: ${file} cannot be replayed yet`));
}
