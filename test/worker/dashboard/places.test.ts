/** The list of places, which test/browser/pages.test.ts opens in a browser. */
import { expect, it } from "vitest";
import { app } from "../../../src/app.ts";
import { createDashboard } from "../../../src/dashboard/app.tsx";
import { NOT_PAGES, PAGES } from "../../browser/support/pages.ts";

it("the list of places names every page", () => {
  const { routes } = createDashboard(app);
  const pages = routes.filter(({ method }) => method === "GET").map(({ path }) => path);
  const named = [...Object.keys(PAGES), ...NOT_PAGES];
  expect(named.toSorted()).toEqual([...new Set(pages)].toSorted());
});
