import { describe, expect, it } from "vitest";
import { checkParameters } from "./parameters.ts";
import type { Preset } from "./presets/preset.ts";
import { createVerifier } from "./verifier.ts";

const PRESET: Pick<Preset, "name" | "parameters"> = {
  name: "sample",
  parameters: [
    {
      name: "topicArn",
      required: true,
      description: "the ARN of the topic",
      pattern: /arn:aws:sns:[a-z0-9-]+:\d{12}:\w+/,
    },
    { name: "mode", required: false, description: "how the sender is set up", values: ["simple", "advanced"] },
    { name: "note", required: false, description: "any text" },
  ],
};
const ARN = "arn:aws:sns:eu-central-1:123456789012:orders";

function problem(parameters: Readonly<Record<string, string>>): string {
  try {
    checkParameters(PRESET, parameters);
    return "none";
  } catch (error) {
    return error instanceof Error && "code" in error ? `${String(error.code)} ${error.message}` : String(error);
  }
}

describe("parameters of a preset", () => {
  it.each([{ topicArn: ARN }, { topicArn: ARN, mode: "simple" }, { topicArn: ARN, note: "" }])(
    "may be %o",
    (parameters) => {
      expect(problem(parameters)).toBe("none");
    },
  );

  it.each([
    [{}, "ParameterMissing verification.parameters.topicArn is missing: set the ARN of the topic"],
    [{ topicArn: "" }, "ParameterInvalid verification.parameters.topicArn: it is malformed: set the ARN of the topic"],
    [
      { topicArn: `${ARN} and more` },
      "ParameterInvalid verification.parameters.topicArn: it is malformed: set the ARN of the topic",
    ],
    [{ topicArn: ARN, mode: "Simple" }, "ParameterInvalid verification.parameters.mode: use one of simple, advanced"],
    [
      { topicArn: ARN, topicARN: ARN },
      "ParameterInvalid verification.parameters.topicARN: the provider sample has no such parameter: use topicArn, mode, note",
    ],
    [
      { topicArn: ARN, constructor: "x" },
      "ParameterInvalid verification.parameters.constructor: the provider sample has no such parameter: use topicArn, mode, note",
    ],
  ])("may not be %o", (parameters, expected) => {
    expect(problem(parameters)).toBe(expected);
  });

  it("are checked when a verifier is made, also for presets that take none", () => {
    expect(() => createVerifier({ type: "provider", provider: "github" }, { parameters: { key: "1" } })).toThrowError(
      expect.objectContaining({
        code: "ParameterInvalid",
        message: "verification.parameters.key: the provider github has no such parameter: remove it, it takes none",
      }),
    );
  });
});
