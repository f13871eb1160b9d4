/** The dashboard: what every page goes through, and the list of its rooms. */
import type { Context, Hono } from "hono";
import { requestId } from "hono/request-id";
import { matchedRoutes } from "hono/route";
import { secureHeaders } from "hono/secure-headers";
import type { AppEnv } from "../context.ts";
import { ValidationFailure } from "../domain/schemas/validation.ts";
import { settings } from "../env.ts";
import { errorResponse, ProblemError, problemStatus, toProblem } from "../errors.ts";
import { logger } from "../log.ts";
import { requestBody } from "../middleware/body.ts";
import { noStoreByDefault } from "../middleware/conditional.ts";
import { separateFilesOrigin } from "../middleware/files-origin.ts";
import { limitAddress, limitRate } from "../middleware/rate-limit.ts";
import { readManifest } from "../services/assets.ts";
import { getServices } from "../services/services.ts";
import { isSessionEnded, loadSession, requireFormToken, SAFE_METHODS } from "./access.ts";
import { accountPages } from "./account/routes.tsx";
import { type Dashboard, type PageContext, pages } from "./context.ts";
import { loadFlash } from "./flash.ts";
import { fleetPages } from "./fleet/routes.tsx";
import { homePages } from "./home/routes.tsx";
import { modelPages } from "./models/routes.tsx";
import { playgroundPages } from "./playground/routes.tsx";
import { predictionPages } from "./predictions/routes.tsx";
import { securityPages } from "./security/routes.tsx";
import { signInPages } from "./sign-in/routes.tsx";
import { tokenPages } from "./tokens/routes.tsx";
import { ErrorPage } from "./ui/error.tsx";
import { layout } from "./ui/layout.tsx";
import { type Resubmission, ResubmitPage, resubmissionOf } from "./ui/resubmit.tsx";
import { userPages } from "./users/routes.tsx";
import { variablePages } from "./variables/routes.tsx";

/** Where scripts and style come from: what users upload has addresses of this origin too. */
const assetsSource = (c: Context) => `${new URL(c.req.url).origin}/assets/`;

/** Empty: the deployment's own address has them. */
const filesSource = (c: Context<Dashboard>) => settings(c.env).filesOrigin ?? "";

/** Nothing but our own files, and nobody around us. */
const pageHeaders = secureHeaders({
  // Whether a domain is for https alone is for those to say who own it.
  strictTransportSecurity: false,
  // Without a referrer browsers send our own forms as from nowhere (Origin: null).
  referrerPolicy: "same-origin",
  contentSecurityPolicy: {
    defaultSrc: ["'none'"],
    scriptSrc: [assetsSource],
    styleSrc: [assetsSource],
    imgSrc: ["'self'", "data:", "blob:", filesSource],
    mediaSrc: ["'self'", "blob:", filesSource],
    connectSrc: ["'self'"],
    baseUri: ["'none'"],
    // Sent on from our own forms: browsers hold redirects to it, too.
    formAction: ["'self'", "https://github.com"],
    frameAncestors: ["'none'"],
  },
});

/** @param otherwise answers programs that ask for what is no page */
export function createDashboard(otherwise: Pick<Hono<AppEnv>, "fetch">) {
  const dashboard = pages()
    .use((c, next) =>
      acceptsHtml(c) || (matchesPage(c) && !hasApiToken(c))
        ? next()
        : Promise.resolve(otherwise.fetch(c.req.raw, c.env, c.executionCtx)),
    )
    .use(requestId({ limitLength: 128 }))
    .use(noStoreByDefault)
    .use(pageHeaders)
    .use(requestBody)
    .use(async (c, next) => {
      c.set("services", getServices(c.env));
      c.set("assets", await readManifest(c.env));
      await next();
    })
    .use(separateFilesOrigin)
    .use(layout)
    .use(loadSession)
    .use(async (c, next) => {
      const { session, viewer } = c.var;
      await (session ? limitRate(c, "token", session.id) : limitAddress(c));
      if (viewer)
        await limitRate(c, SAFE_METHODS.has(c.req.method) ? "user" : "writes", viewer.user.id);
      await next();
    })
    .use(loadFlash)
    .use(requireFormToken);

  for (const room of [
    homePages,
    modelPages,
    variablePages,
    signInPages,
    userPages,
    playgroundPages,
    predictionPages,
    securityPages,
    tokenPages,
    accountPages,
    fleetPages,
  ])
    dashboard.route("/", room);

  dashboard.notFound((c) =>
    showError(c, new ProblemError("not_found", `There is no page at ${c.req.path.slice(0, 200)}.`)),
  );

  dashboard.onError(async (error, c: PageContext) => {
    // Islands know problems as programs do; without its style a page is none.
    if (!acceptsHtml(c) || !c.var.assets) return errorResponse(error, c);
    const problem = error instanceof ValidationFailure ? invalidQuery(error) : toProblem(error, c);
    if (!problem) {
      logger.error("Unexpected error", { request_id: c.var.requestId, error });
    }
    const kept = problem && isSessionEnded(problem) && (await resubmissionOf(c));
    return kept ? showResubmit(c, kept, problem) : showError(c, problem);
  });

  return dashboard;
}

/** Whether a room has something there: what is for all addresses is none. */
const matchesPage = (c: PageContext) => matchedRoutes(c).some(({ path }) => path !== "/*");

/** A program that means the API, and has left out its /v1. */
const hasApiToken = (c: PageContext) => c.req.header("authorization") !== undefined;

const acceptsHtml = (c: PageContext) => c.req.header("accept")?.includes("text/html") ?? false;

/** What an address asks for that cannot be: what a form has is said at its fields. */
const invalidQuery = ({ issues }: ValidationFailure) =>
  new ProblemError(
    "bad_request",
    `${issues.map(({ loc, msg }) => `${loc.slice(1).join(".")}: ${msg}`).join(". ")}.`,
  );

function showResubmit(c: PageContext, kept: Resubmission, problem: ProblemError) {
  c.status(problemStatus(problem));
  const { pathname, search } = new URL(c.req.url);
  const username = c.var.viewer?.user.username;
  const page = <ResubmitPage kept={kept} action={pathname + search} username={username} />;
  return c.render(page, { title: username === undefined ? "Signed out" : "Submit again" });
}

function showError(c: PageContext, problem: ProblemError | undefined) {
  c.status(problem ? problemStatus(problem) : 500);
  for (const [name, value] of Object.entries(problem?.headers ?? {})) c.header(name, value);
  const title = problem?.code === "not_found" ? "Not found" : "Something went wrong";
  return c.render(<ErrorPage title={title} problem={problem} requestId={c.var.requestId} />, {
    title,
  });
}
