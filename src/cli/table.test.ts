import { describe, expect, it } from "vitest";
import { styleFor } from "./style.ts";
import { table } from "./table.ts";

describe("table", () => {
  it("aligns columns by their widest cell and leaves no blanks at line ends", () => {
    expect(
      table(
        ["ID", "STATE"],
        [
          ["a", "delivered"],
          ["long-id", ""],
        ],
      ),
    ).toBe("ID       STATE\na        delivered\nlong-id\n");
  });

  it("gives colour codes no width", () => {
    const { green } = styleFor({ write: () => true, isTTY: true }, {});
    const [, first, second] = table(
      ["A", "B"],
      [
        [green("x"), "1"],
        ["yy", "2"],
      ],
    ).split("\n");
    expect(first).toBe("\u001b[32mx\u001b[0m   1");
    expect(second).toBe("yy  2");
  });

  it("counts characters, not UTF-16 units", () => {
    expect(table(["A", "B"], [["→", "1"]])).toBe("A  B\n→  1\n");
    expect(table(["A", "B"], [["𝒳", "1"]])).toBe("A  B\n𝒳  1\n");
  });

  it("keeps a cell on one line", () => {
    expect(table(["A"], [["one\r\n  two"]])).toBe("A\none two\n");
  });
});

describe("styleFor", () => {
  it("colours a terminal only, and not when NO_COLOR is set", () => {
    const terminal = { write: () => true, isTTY: true };
    expect(styleFor(terminal, {}).red("no")).toBe("\u001b[31mno\u001b[0m");
    expect(styleFor(terminal, { NO_COLOR: "1" }).red("no")).toBe("no");
    expect(styleFor({ write: () => true }, {}).red("no")).toBe("no");
  });
});
