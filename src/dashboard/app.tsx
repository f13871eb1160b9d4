/** The dashboard: its middleware, error pages and the list of page groups. */
import type { Context, Hono } from "hono";
import { requestId } from "hono/request-id";
import { matchedRoutes } from "hono/route";
import { secureHeaders } from "hono/secure-headers";
import type { AppEnv } from "../context.ts";
import { FORM_ROWS } from "../domain/accounts/write-rows.ts";
import { ValidationFailure } from "../domain/schemas/validation.ts";
import { settings } from "../env.ts";
import {
  errorResponse,
  ProblemError,
  problemStatus,
  problemTitle,
  toProblem,
} from "../errors/errors.ts";
import { describeRequest } from "../lib/current-request.ts";
import { logger } from "../log.ts";
import { requestBody } from "../middleware/body.ts";
import { isOpenRoute } from "../middleware/closed.ts";
import { noStoreByDefault } from "../middleware/conditional.ts";
import { lengthOf, limitAddress, limitRate, meterWrites } from "../middleware/rate-limit.ts";
import { countRequests } from "../middleware/request-counts.ts";
import { separateFilesOrigin } from "../middleware/response-headers.ts";
import { tracedRequest } from "../middleware/traced-request.ts";
import { readManifest } from "../services/assets.ts";
import { getServices } from "../services/services.ts";
import {
  AccountSuspended,
  isSessionEnded,
  loadSession,
  nextPath,
  requireFormToken,
  requireUser,
  SAFE_METHODS,
} from "./access.ts";
import { accountPages, deletionPages } from "./account/routes.tsx";
import { loadAccount, mountForOrganizations, stayInOrganization } from "./addresses.ts";
import { alertPages } from "./alerts/routes.tsx";
import { auditPages, operatorAuditPages } from "./audit/routes.tsx";
import { budgetPages, operatorBudgetPages } from "./budgets/routes.tsx";
import { type Dashboard, loadFlash, type PageContext, pages } from "./context.ts";
import { deploymentPages } from "./deployments/routes.tsx";
import { devicePages } from "./device/routes.tsx";
import { findPages } from "./find/routes.tsx";
import { fleetPages } from "./fleet/routes.tsx";
import { homePages } from "./home/routes.tsx";
import { imagePages } from "./images/routes.tsx";
import { metricsPages } from "./metrics/routes.tsx";
import { operatorPricePages } from "./models/price-routes.tsx";
import { modelPages } from "./models/routes.tsx";
import { organizationPages } from "./organizations/routes.tsx";
import { playgroundPages } from "./playground/routes.tsx";
import { outputPages, predictionPages } from "./predictions/routes.tsx";
import { publishPages } from "./publish/routes.tsx";
import { authenticatorPages } from "./security/authenticator.tsx";
import { securityPages } from "./security/routes.tsx";
import { privateHeaders, sharePages } from "./shares/routes.tsx";
import { signInPages } from "./sign-in/routes.tsx";
import { publicStatus, STATUS_PAGE, statusPages } from "./status/routes.tsx";
import { tokenPages } from "./tokens/routes.tsx";
import { ErrorPage, SuspendedPage } from "./ui/error.tsx";
import { layout } from "./ui/layout.tsx";
import { type Resubmission, ResubmitPage, resubmissionOf } from "./ui/resubmit.tsx";
import { lookUpPages } from "./users/look-up.tsx";
import { userPages } from "./users/page.tsx";
import { personPages } from "./users/person-routes.tsx";
import { deploymentUsagePages } from "./users/usage.tsx";
import { variablePages } from "./variables/routes.tsx";
import { deliveryPages } from "./webhooks/delivery-routes.tsx";
import { webhookPages } from "./webhooks/routes.tsx";

/** Not 'self': uploaded files are served from this origin too. */
const assetsSource = (c: Context) => `${new URL(c.req.url).origin}/assets/`;

/** Empty when files are served from the deployment's own origin. */
const filesSource = (c: Context<Dashboard>) => settings(c.env).filesOrigin ?? "";

/** Other sites may show the public status page in a frame: it has no session, and nothing to click but a link. */
const framing = (c: Context<Dashboard>) =>
  c.req.path === STATUS_PAGE && settings(c.env).alerts.isStatusPublic ? "*" : "'none'";

/** Other programs may write an ID in upper case. */
const UPPER_ID = /\/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?=\/|$)/gi;

const pageHeaders = secureHeaders({
  // The owner of the domain decides whether it is HTTPS only.
  strictTransportSecurity: false,
  // Browsers submit forms with `Origin: null` if the policy is no-referrer.
  referrerPolicy: "same-origin",
  // `frameAncestors` says who may frame a page.
  xFrameOptions: false,
  contentSecurityPolicy: {
    defaultSrc: ["'none'"],
    scriptSrc: [assetsSource],
    styleSrc: [assetsSource],
    // Most letters lie in the stylesheet.
    fontSrc: [assetsSource, "data:"],
    imgSrc: ["'self'", "data:", "blob:", filesSource],
    mediaSrc: ["'self'", "blob:", filesSource],
    connectSrc: ["'self'"],
    baseUri: ["'none'"],
    // GitHub login: browsers apply form-action to redirects too.
    formAction: ["'self'", "https://github.com"],
    frameAncestors: [framing],
  },
});

/** @param otherwise handles API requests that arrive without the /v1 prefix */
export function createDashboard(otherwise: Pick<Hono<AppEnv>, "fetch">) {
  const dashboard = pages()
    .use((c, next) =>
      acceptsHtml(c) || (matchesPage(c) && !hasApiToken(c))
        ? next()
        : Promise.resolve(otherwise.fetch(c.req.raw, c.env, c.executionCtx)),
    )
    .use((c, next) => {
      const path = c.req.path.replace(UPPER_ID, (segment) => segment.toLowerCase());
      if (path === c.req.path || c.req.method !== "GET") return next();
      return Promise.resolve(c.redirect(path + new URL(c.req.url).search));
    })
    .use(requestId({ limitLength: 128 }))
    .use((c, next) => {
      describeRequest({ requestId: c.var.requestId, ...tracedRequest(c) });
      return next();
    })
    .use(noStoreByDefault)
    // `privateHeaders` wraps `pageHeaders`, so that its values are set last and stay.
    .use(privateHeaders)
    .use(pageHeaders)
    .use(requestBody)
    .use(async (c, next) => {
      c.set("services", getServices(c.env));
      c.set("assets", await readManifest(c.env));
      await next();
    })
    .use(countRequests)
    .use(separateFilesOrigin)
    .use(layout)
    .get(STATUS_PAGE, publicStatus)
    .use(loadSession)
    .use(loadAccount)
    .use(async (c, next) => {
      const { session, viewer } = c.var;
      await (session ? limitRate(c, "token", session.id) : limitAddress(c));
      const writes = !SAFE_METHODS.has(c.req.method);
      const account = viewer?.caller.user_id;
      if (account !== undefined) await limitRate(c, writes ? "writes" : "user", account);
      if (account === undefined || !writes) return next();
      const bytes = lengthOf(c.req.header("content-length"));
      await meterWrites(c, account, { rows: FORM_ROWS, bytes }, next);
    })
    .use((c, next) => (isOpenRoute(c) ? next() : requireUser(c, next)))
    .use(loadFlash)
    .use(requireFormToken)
    .use(stayInOrganization);

  for (const group of [
    homePages,
    signInPages,
    devicePages,
    userPages,
    personPages,
    operatorBudgetPages,
    lookUpPages,
    operatorAuditPages,
    deploymentUsagePages,
    securityPages,
    authenticatorPages,
    tokenPages,
    deletionPages,
    organizationPages,
    fleetPages,
    alertPages,
    statusPages,
    operatorPricePages,
  ])
    dashboard.route("/", group);

  for (const group of [
    findPages,
    // The publish pages come before the page of an owner, who cannot be called `publish`.
    publishPages,
    metricsPages,
    modelPages,
    variablePages,
    playgroundPages,
    predictionPages,
    outputPages,
    accountPages,
    budgetPages,
    auditPages,
    imagePages,
    sharePages,
    deliveryPages,
    deploymentPages,
    webhookPages,
  ]) {
    dashboard.route("/", group);
    mountForOrganizations(dashboard, group);
  }

  dashboard.notFound((c) =>
    showError(c, new ProblemError("not_found", `No page exists at ${c.req.path.slice(0, 200)}.`)),
  );

  dashboard.onError(async (error, c: PageContext) => {
    // Client scripts read problem details; without assets no page can be rendered.
    if (!acceptsHtml(c) || !c.var.assets) return errorResponse(error, c);
    const problem = error instanceof ValidationFailure ? invalidQuery(error) : toProblem(error, c);
    if (!problem) {
      logger.error("Unexpected error", { request_id: c.var.requestId, error });
    }
    const resubmission = problem && isSessionEnded(problem) && (await resubmissionOf(c));
    return resubmission ? showResubmit(c, resubmission, problem) : showError(c, problem);
  });

  return dashboard;
}

/** Whether a page matches; middleware for all paths does not count. */
const matchesPage = (c: PageContext) => matchedRoutes(c).some(({ path }) => path !== "/*");

/** An API client that left out /v1. */
const hasApiToken = (c: PageContext) => c.req.header("authorization") !== undefined;

const acceptsHtml = (c: PageContext) => c.req.header("accept")?.includes("text/html") ?? false;

/** Problems of query parameters; invalid form fields are reported next to the field. */
const invalidQuery = ({ issues }: ValidationFailure) =>
  new ProblemError(
    "bad_request",
    `${issues.map(({ loc, msg }) => `${loc.slice(1).join(".")}: ${msg}`).join(". ")}.`,
  );

function showResubmit(c: PageContext, resubmission: Resubmission, problem: ProblemError) {
  c.status(problemStatus(problem));
  const { pathname, search } = new URL(c.req.url);
  const username = c.var.viewer?.user.username;
  const page = (
    <ResubmitPage resubmission={resubmission} action={pathname + search} username={username} />
  );
  return c.render(page, { title: username === undefined ? "Logged out" : "Submit again" });
}

function showError(c: PageContext, problem: ProblemError | undefined) {
  c.status(problem ? problemStatus(problem) : 500);
  for (const [name, value] of Object.entries(problem?.headers ?? {})) c.header(name, value);
  if (problem instanceof AccountSuspended)
    return c.render(<SuspendedPage />, { title: "This account is suspended" });
  const title = titleOf(problem);
  const error = { title, problem, requestId: c.var.requestId, back: cameFrom(c) };
  return c.render(<ErrorPage {...error} />, { title });
}

function titleOf(problem: ProblemError | undefined): string {
  if (problem?.code === "conflict") return "Cannot complete this action";
  const told = ["forbidden", "not_found", "too_many_requests"];
  return problem && told.includes(problem.code)
    ? problemTitle(problem.code)
    : "Something went wrong";
}

/** The page of ours whose link or button led here. */
function cameFrom(c: PageContext): string | undefined {
  const [here, from] = [new URL(c.req.url), URL.parse(c.req.header("referer") ?? "")];
  if (from?.origin !== here.origin || from.pathname === here.pathname) return undefined;
  return nextPath(from.pathname + from.search);
}
