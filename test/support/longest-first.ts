import { relative } from "node:path";
import type { TestSpecification } from "vitest/node";
import { BaseSequencer } from "vitest/node";

/**
 * Files that take minutes, longest first. On a machine that has not run them vitest begins with the largest file, and these are short: they
 * say which tests run, on what. Begun last, one of them would run alone at the end.
 */
const LONGEST = [
  "test/cluster/operator/operator.test.ts",
  "test/cluster/webhook-route-controller.test.ts",
  "test/cluster/operator/drift.test.ts",
  "test/cluster/redis-access.test.ts",
  "test/cluster/operator/leadership.test.ts",
  "test/cluster/operator/redis-users.test.ts",
  "test/cluster/state-metrics.test.ts",
];

/** Vitest's own order, but the longest files of a project come first in it. */
export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const { root } = this.ctx.config;
    const rank = ({ moduleId }: TestSpecification) => {
      const index = LONGEST.indexOf(relative(root, moduleId));
      return index < 0 ? LONGEST.length : index;
    };
    // oxlint-disable-next-line unicorn/no-array-sort -- not an array's
    const sorted = await super.sort(files);
    const projects = [...new Set(sorted.map(({ project }) => project))];
    // toSorted is stable: the others stay as they were.
    return projects.flatMap((project) =>
      sorted.filter((file) => file.project === project).toSorted((a, b) => rank(a) - rank(b)),
    );
  }
}
