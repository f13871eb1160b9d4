/** Every page of the dashboard is looked at in a browser: by test/browser/pages.test.ts. */
import { expect, it } from "vitest";
import { app } from "../../../src/app.ts";
import { createDashboard } from "../../../src/dashboard/app.tsx";
import { NO_PLACES, PLACES } from "../../browser/support/places.ts";

it("the list of places names every page", () => {
  const { routes } = createDashboard(app);
  const pages = routes.filter(({ method }) => method === "GET").map(({ path }) => path);
  const named = [...Object.keys(PLACES), ...NO_PLACES];
  expect(named.toSorted()).toEqual([...new Set(pages)].toSorted());
});
