// Preloaded into a program that imports "davit": it gets the source tree, so that nothing has to be built.
import { registerHooks } from "node:module";

const SDK = new URL("../../../src/sdk/index.ts", import.meta.url).href;

registerHooks({
  resolve: (specifier, context, next) =>
    specifier === "davit" ? { url: SDK, shortCircuit: true } : next(specifier, context),
});
