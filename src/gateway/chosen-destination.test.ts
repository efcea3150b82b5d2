import { describe, expect, test } from "vitest";
import { chosenByRequest, chosenByValue, compileChosen, type ChosenRules } from "./chosen-destination.ts";
import { RequestView } from "./request-view.ts";

function view(body: string, rawHeaders: string[] = []): RequestView {
  const made = new RequestView({ method: "POST", rawHeaders }, "/", "https://h/");
  made.body = Buffer.from(body);
  return made;
}

const rulesOf = (text: string) => compileChosen(text) as ChosenRules;

describe("a destination that each event names", () => {
  test("is read at a pointer of the body, texts and numbers exactly", () => {
    const chosen = (body: string) => chosenByRequest(rulesOf("json:/to/id"), view(body));
    expect(chosen('{"to":{"id":"Acme GmbH"}}')).toBe("~Acme%20GmbH");
    expect(chosen('{"to":{"id":17}}')).toBe("~17");
    expect(chosen('{"to":{"id":90071992547409931}}')).toBe("~90071992547409931");
  });

  test("is read of a header that came once", () => {
    const rules = rulesOf("header:X-Destination");
    expect(chosenByRequest(rules, view("", ["x-destination", "acme"]))).toBe("~acme");
    expect(chosenByRequest(rules, view("", ["x-destination", "a", "X-Destination", "b"]))).toBeUndefined();
    expect(chosenByRequest(rules, view(""))).toBeUndefined();
  });

  test("is none where no WebhookDestination could have that id", () => {
    const bodies = [
      '{"to":""}',
      '{"to":null}',
      '{"to":{}}',
      "{}",
      "no JSON",
      `{"to":"${"x".repeat(129)}"}`,
      '{"to":"\\ud800"}',
    ];
    for (const body of bodies) expect(chosenByRequest(rulesOf("json:/to"), view(body))).toBeUndefined();
  });

  test("is read of an event without headers as well", () => {
    expect(chosenByValue(rulesOf("json:/data/to"), { data: { to: "acme" } })).toBe("~acme");
    expect(chosenByValue(rulesOf("json:/data/to"), {})).toBeUndefined();
    expect(chosenByValue(rulesOf("header:X-To"), { "X-To": "acme" })).toBeUndefined();
  });

  test("must be said to be in a header or the body", () => {
    expect(compileChosen(undefined)).toBeUndefined();
    expect(() => compileChosen("query:to")).toThrow(RangeError);
  });
});
