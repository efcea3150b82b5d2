import { beforeAll, describe } from "vitest";
import type { OperatorRelease } from "../../support/operator/operator-release.ts";
import { ClusterDriver } from "../../support/suites/cluster-driver.ts";
import { conflictSuite } from "../../support/suites/conflict-suite.ts";
import { rotationSuite } from "../../support/suites/rotation-suite.ts";

/** The suites that `davit dev` passes as well. */
export function suitesTests(release: () => OperatorRelease): void {
  describe("the operator, as davit dev", () => {
    let driver: ClusterDriver;
    beforeAll(async () => {
      driver = await ClusterDriver.over(release());
    });

    rotationSuite(() => driver);
    conflictSuite(() => driver);
  });
}
