import { readFileSync } from "node:fs";
import { CRD_FILES } from "../api/crd.ts";
import { type Command, parse } from "./command.ts";

/** `davit crds`: for `kubectl apply -f -`. */
export const command: Command = {
  name: "crds",
  summary: "print the CustomResourceDefinitions, for kubectl apply -f -",
  usage: "davit crds",
  async run(argv, io) {
    parse(argv, {});
    for (const file of Object.values(CRD_FILES)) {
      const text = readFileSync(new URL(`../../crds/${file}`, import.meta.url), "utf8");
      io.stdout.write(text.startsWith("---") ? text : `---\n${text}`);
    }
    return 0;
  },
};
