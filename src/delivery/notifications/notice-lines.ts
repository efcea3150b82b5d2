import { idOfDestination } from "../../api/names.ts";
import type { Notice, NoticeKind, TakenNotice } from "../../custody/notices.ts";
import type { Logger } from "../../observability/logger.ts";
import { enableCommand, noticeLine } from "./notice-text.ts";
import type { NoticeChannel, TellContext } from "./outcome.ts";

const LEVELS: Readonly<Record<NoticeKind, "warn" | "error" | "info">> = {
  Failing: "warn",
  HalfWay: "warn",
  Disabled: "error",
  Recovered: "info",
};

/** Tells by a line in the log: for whoever has no cluster whose Events would say it. */
export class NoticeLines implements NoticeChannel {
  readonly #namespace: string;
  readonly #logger: Logger;

  constructor(namespace: string, logger: Logger) {
    this.#namespace = namespace;
    this.#logger = logger;
  }

  isWanted(): boolean {
    return true;
  }

  async tell(taken: readonly TakenNotice[], { report }: TellContext): Promise<void> {
    for (const one of taken) {
      this.#write(one.notice);
      await report(one, { result: "told" });
    }
  }

  #write(notice: Notice): void {
    const { destination, kind, id } = notice;
    const name = idOfDestination(destination) ?? destination.slice(destination.indexOf("/") + 1);
    const subject = { namespace: this.#namespace, name, id: name };
    const remedy = kind === "Disabled" ? `; to enable it: ${enableCommand(subject)}` : "";
    this.#logger[LEVELS[kind]](
      { namespace: this.#namespace, destination, notice: id },
      noticeLine(notice, subject) + remedy,
    );
  }
}
