/** What the API says of itself: /v1/openapi.json for programs, /docs for people; nobody needs a token. */
import { $ } from "@hono/zod-openapi";
import type { Context, Hono } from "hono";
import { secureHeaders } from "hono/secure-headers";
import { LRUCache } from "lru-cache";
import { ReferencePage } from "../dashboard/reference/page.tsx";
import { stylesheet } from "../dashboard/reference/stylesheet.ts";
import { conditional } from "../middleware/conditional.ts";
import { makeDocument } from "../openapi/document.ts";
import type { ResourceShape } from "../protocol/user.ts";
import type { App } from "./context.ts";

/** It changes with a deployment alone. */
const CACHE = "public, max-age=300";

/** A deployment has few origins: its own domain, the one at workers.dev. */
const MAX_ORIGINS = 8;

const STYLESHEET = "/docs/style.css";

/** What is made once per isolate: for each origin, in the shape that the deployment serves. */
function once<Made extends object | string>(make: (shape: ResourceShape, origin: string) => Made) {
  const kept = new LRUCache<string, Made>({ max: MAX_ORIGINS });
  return (c: Context<App>): Made => {
    const shape = c.var.services.settings.resourceShape;
    const { origin } = new URL(c.req.url);
    const key = `${shape} ${origin}`;
    const made = kept.get(key) ?? make(shape, origin);
    kept.set(key, made);
    return made;
  };
}

const protectedPage = secureHeaders({
  // Whether a domain is for https alone is for those to say who own it.
  strictTransportSecurity: false,
  contentSecurityPolicy: {
    defaultSrc: ["'none'"],
    // What users upload has addresses of this origin too.
    styleSrc: [(c) => `${new URL(c.req.url).origin}${STYLESHEET}`],
    imgSrc: ["data:"],
    baseUri: ["'none'"],
    formAction: ["'none'"],
    frameAncestors: ["'none'"],
  },
});

/** Adds the documentation of all routes that `app` has by now. */
export function documented(app: Hono<App>): void {
  const api = $(app);
  const json = once((shape, origin) => JSON.stringify(makeDocument(api, shape, origin)));
  const page = once((shape, origin) => {
    const document = makeDocument(api, shape, origin);
    return `<!DOCTYPE html>${<ReferencePage document={document} stylesheet={STYLESHEET} />}`;
  });

  app.get("/v1/openapi.json", conditional, (c) =>
    c.body(json(c), 200, { "content-type": "application/json", "cache-control": CACHE }),
  );

  app.get("/docs", protectedPage, (c) => c.html(page(c), 200, { "cache-control": CACHE }));

  app.get(STYLESHEET, protectedPage, (c) =>
    c.body(stylesheet, 200, { "content-type": "text/css; charset=utf-8", "cache-control": CACHE }),
  );
}
