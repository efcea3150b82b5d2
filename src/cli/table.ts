import { stripVTControlCharacters } from "node:util";

/**
 * Aligns rows under a header, columns two spaces apart, as kubectl does. Colour codes take no width; line breaks in a cell become spaces.
 *
 * @returns lines that end with a line feed
 */
export function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const cells = [header, ...rows].map((row) => row.map((cell) => cell.replaceAll(/\s*[\r\n]+\s*/g, " ")));
  const widths = header.map((_, column) => Math.max(...cells.map((row) => width(row[column] ?? ""))));
  return cells
    .map(
      (row) =>
        `${row
          .map((cell, column) => pad(cell, widths[column] ?? 0))
          .join("  ")
          .trimEnd()}\n`,
    )
    .join("");
}

/** Characters, not UTF-16 units. */
function width(text: string): number {
  return Array.from(stripVTControlCharacters(text)).length;
}

function pad(text: string, to: number): string {
  return text + " ".repeat(Math.max(0, to - width(text)));
}
