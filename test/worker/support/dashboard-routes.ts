/** Every page and action of the dashboard, its audience and its parameters. */
import { env } from "cloudflare:workers";
import { addressIn, ORGANIZATION } from "../../../src/dashboard/addresses.ts";
import { BUDGET_ROUTES, ORGANIZATION_PAGES, TOKEN_ROUTES } from "./account-routes.ts";
import { beginApp, codeOf, setUpApp } from "./authenticator.ts";
import { type DashboardRoute, each, operators } from "./dashboard-route.ts";
import { newExample, newPinnable, newShownExample } from "./examples.ts";
import { FLEET_ROUTES } from "./fleet-routes.ts";
import { addressOf, freshPath } from "./receiver.ts";
import {
  MODEL,
  newAvatar,
  newDeviceLogin,
  newEndedRun,
  newFormerUsername,
  newInvitation,
  newJoining,
  newOperatorPlace,
  newOwnDeployment,
  newPasskey,
  newPlaceWithin,
  newPushed,
  newRun,
  newSession,
  newShare,
  newSharing,
  newShownPushed,
  newShownSharing,
  newShownVariable,
  newShownVersion,
  newSuspended,
  newTokenOfUser,
  newUpload,
  newUserPlace,
  newVariable,
  newVersion,
  newWebhookEndpoint,
  newWholeUpload,
  PNG,
  VARIABLE,
  webhooksOf,
} from "./route-parameters.ts";
import { PASSWORD, signedUp } from "./visitor.ts";
import { DIGEST, unique } from "./world.ts";

const open: DashboardRoute = { audience: "everybody", anonymousStatus: 200 };

const SECURITY = "/account/security";
const ONE_MODEL = "/models/:owner/:name";
const NUMBER = ":number{[1-9][0-9]{0,8}}";
const RUN = "/predictions/:prediction_id";
const WEBHOOKS = "/account/webhooks";
const DEPLOYMENTS = "/account/deployments";

const ownModel: DashboardRoute = {
  audience: "owner",
  role: "developer",
  parameters: newVersion,
  publicParameters: newShownVersion,
};
const ownExample: DashboardRoute = {
  audience: "owner",
  role: "developer",
  parameters: newExample,
  publicParameters: newShownExample,
};
/** Routes of a private model, which does not exist for others. */
const hiddenModel: DashboardRoute = {
  audience: "owner",
  parameters: newVersion,
  anonymousStatus: 404,
};
const ownDeployment: DashboardRoute = {
  audience: "owner",
  role: "developer",
  parameters: newOwnDeployment,
};
const ownEndpoint: DashboardRoute = {
  audience: "owner",
  role: "developer",
  parameters: newWebhookEndpoint,
};
/** A run of somebody else in the organization. */
const ownRun: DashboardRoute = { audience: "owner", role: "developer", parameters: newEndedRun };
const developers: DashboardRoute = { ...each, role: "developer" };
const admins: DashboardRoute = { ...each, role: "admin" };

export const DASHBOARD_ROUTES: Record<string, DashboardRoute> = {
  "GET /": open,
  "GET /find": open,
  "GET /sign-in": { ...open, status: 303 },
  "POST /sign-in": { ...open, form: (_, { email }) => ({ email, password: PASSWORD, next: "/" }) },
  "GET /sign-in/code": { ...open, status: 303 },
  "POST /sign-in/code": { ...open, changesNothing: true, form: () => ({ code: "000000" }) },
  "POST /sign-in/github": { ...open, status: 404 },
  "POST /sign-in/oidc": { ...open, status: 404, anonymousStatus: 404 },
  "GET /sign-up": open,
  "POST /sign-up": {
    ...open,
    form: () => {
      const username = unique("bob");
      return { username, name: "", email: `${username}@example.com`, password: PASSWORD };
    },
  },
  // The invitation is kept by the browser only.
  "POST /sign-up/invitation": {
    ...open,
    changesNothing: true,
    anonymousStatus: 303,
    form: () => ({ invitation: "x" }),
  },
  "GET /welcome": { audience: "everybody", anonymousStatus: 303, status: 303 },
  "POST /welcome": { ...open, changesNothing: true },
  "GET /set-up": open,
  "POST /set-up": {
    ...open,
    endsSession: true,
    form: () => ({ operator_token: env.OPERATOR_TOKEN }),
  },
  "POST /set-up/sign-in": { ...open, status: 404, anonymousStatus: 404 },
  "POST /sign-out": { ...open, endsSession: true },

  "GET /audit": operators,
  "GET /audit/export": operators,
  "GET /usage": operators,
  "GET /usage.csv": operators,
  "GET /users": operators,
  "POST /users/invitations": {
    ...operators,
    status: 200,
    form: () => ({ note: "Grace", username: "" }),
  },
  "POST /users/invitations/:id/withdraw": { ...operators, parameters: newInvitation },
  "GET /users/:username": { ...operators, parameters: newUserPlace },
  "POST /users/:username/suspend": { ...operators, parameters: newUserPlace },
  "POST /users/:username/restore": { ...operators, parameters: newSuspended },
  "POST /users/:username/capacity": {
    ...operators,
    parameters: newUserPlace,
    form: () => ({ hardware: "cpu", instances: "2" }),
  },
  "POST /users/:username/appoint": { ...operators, parameters: newUserPlace },
  "POST /users/:username/demote": { ...operators, parameters: newOperatorPlace },
  "POST /users/:username/recovery": { ...operators, parameters: newUserPlace, status: 200 },
  "POST /users/:username/tokens/:id/revoke": { ...operators, parameters: newTokenOfUser },
  "POST /users/:username/usernames/:former/release": {
    ...operators,
    parameters: newFormerUsername,
  },
  [`POST /fleet/prices/:owner/:name/${NUMBER}`]: {
    ...operators,
    parameters: newVersion,
    form: () => ({ per_run: "1" }),
  },
  "GET /look-up": operators,

  [`GET ${SECURITY}`]: each,
  // Without a provider; oidc.test.ts has one.
  [`POST ${SECURITY}/oidc/link`]: { ...each, status: 404 },
  [`POST ${SECURITY}/oidc/unlink`]: { ...each, status: 404 },
  [`POST ${SECURITY}/password`]: {
    ...each,
    endsSession: true,
    form: () => ({ current: PASSWORD, password: "another long password" }),
  },
  [`GET ${SECURITY}/app`]: each,
  [`POST ${SECURITY}/app`]: { ...each, status: 200, form: () => ({ password: PASSWORD }) },
  [`POST ${SECURITY}/app/confirm`]: {
    ...each,
    endsSession: true,
    parameters: async ({ visitor }) => {
      const uri = await beginApp(visitor);
      return { uri, code: await codeOf(uri) };
    },
    form: ({ uri = "", code = "" }) => ({ uri, code, codes: "" }),
  },
  [`POST ${SECURITY}/app/codes`]: {
    ...each,
    endsSession: true,
    status: 200,
    parameters: ({ visitor }) => setUpApp(visitor).then(() => ({})),
    form: () => ({ password: PASSWORD }),
  },
  [`POST ${SECURITY}/app/remove`]: {
    ...each,
    endsSession: true,
    parameters: ({ visitor }) => setUpApp(visitor).then(() => ({})),
    form: () => ({ password: PASSWORD }),
  },
  [`POST ${SECURITY}/passkeys/:id/remove`]: { audience: "owner", parameters: newPasskey },
  [`POST ${SECURITY}/sessions/:id/end`]: { audience: "owner", parameters: newSession },
  [`POST ${SECURITY}/sessions/end`]: { ...each, endsSession: true },
  [`POST ${SECURITY}/recoveries/read`]: {
    ...each,
    changesNothing: true,
    form: () => ({ until: "0" }),
  },

  ...TOKEN_ROUTES,
  ...ORGANIZATION_PAGES,
  ...BUDGET_ROUTES,

  "GET /device": each,
  "POST /device": {
    ...each,
    status: 200,
    changesNothing: true,
    parameters: newDeviceLogin,
    form: ({ user_code = "" }) => ({ user_code }),
  },
  "POST /device/answer": {
    ...each,
    parameters: newDeviceLogin,
    form: ({ user_code = "" }) => ({ user_code, answer: "approve" }),
  },
  "GET /join/:invitation": { ...open, parameters: newJoining },
  "POST /join/:invitation": { ...each, parameters: newJoining },

  "GET /account": admins,
  "POST /account": {
    ...admins,
    form: (_, { username }) => ({ username, name: unique("Ada") }),
  },
  "POST /account/avatar": { ...admins, form: () => ({ avatar: PNG }) },
  "POST /account/avatar/remove": { ...admins, parameters: newAvatar },
  "GET /account/usage": each,
  "GET /account/usage.csv": each,
  "GET /account/images": developers,
  "GET /account/shares": developers,
  "POST /account/shares/:id/revoke": { audience: "owner", role: "developer", parameters: newShare },
  [`GET ${DEPLOYMENTS}`]: each,
  [`POST ${DEPLOYMENTS}`]: {
    ...ownDeployment,
    form: ({ model = "" }) => ({ name: unique("deployment"), model, min_instances: "0" }),
  },
  [`GET ${DEPLOYMENTS}/:name`]: { audience: "owner", parameters: newOwnDeployment },
  [`POST ${DEPLOYMENTS}/:name`]: { ...ownDeployment, form: () => ({ max_instances: "3" }) },
  [`POST ${DEPLOYMENTS}/:name/rollback`]: ownDeployment,
  [`POST ${DEPLOYMENTS}/:name/delete`]: ownDeployment,
  [`GET ${WEBHOOKS}`]: developers,
  [`POST ${WEBHOOKS}`]: {
    ...developers,
    status: 200,
    form: () => ({ url: addressOf(freshPath()), events: "completed" }),
  },
  [`GET ${WEBHOOKS}/deliveries`]: developers,
  // The form has no chosen delivery.
  [`POST ${WEBHOOKS}/deliveries`]: { ...developers, changesNothing: true },
  [`GET ${WEBHOOKS}/:id`]: ownEndpoint,
  [`POST ${WEBHOOKS}/:id`]: {
    ...ownEndpoint,
    form: () => ({ url: addressOf(freshPath()), events: "started" }),
  },
  [`POST ${WEBHOOKS}/:id/test`]: { ...ownEndpoint, status: 200, changesNothing: true },
  [`POST ${WEBHOOKS}/:id/enable`]: ownEndpoint,
  [`POST ${WEBHOOKS}/:id/disable`]: ownEndpoint,
  [`POST ${WEBHOOKS}/:id/secrets`]: { ...ownEndpoint, status: 200 },
  [`POST ${WEBHOOKS}/:id/secrets/:secret/delete`]: ownEndpoint,
  [`POST ${WEBHOOKS}/:id/delete`]: ownEndpoint,
  "GET /shared/:token": { ...open, parameters: newShare },
  // A run that was canceled has no files.
  "GET /shared/:token/files/:source/:name": {
    ...open,
    parameters: async (person) => ({ ...(await newShare(person)), source: "run", name: "a.png" }),
    status: 404,
    anonymousStatus: 404,
  },
  "GET /account/audit": admins,
  "GET /account/audit/export": admins,
  "GET /account/data": admins,
  "GET /account/export": admins,
  "GET /account/delete": each,
  "POST /account/delete": {
    ...each,
    endsSession: true,
    form: (_, { username }) => ({ username, password: PASSWORD }),
  },

  "GET /models": open,
  "GET /models/new": developers,
  "POST /models/new": { ...developers, form: () => ({ ...MODEL, name: unique("model") }) },
  "GET /models/publish": developers,
  "POST /models/publish": { ...developers, status: 200 },
  "GET /models/shared": each,
  // The page is that of a user who is neither its visitor nor the stranger.
  "GET /models/:owner": {
    ...open,
    parameters: async () => ({ owner: (await signedUp()).username }),
  },
  [`GET ${ONE_MODEL}/publish`]: ownModel,
  [`POST ${ONE_MODEL}/publish`]: { ...ownModel, status: 200 },
  [`GET ${ONE_MODEL}`]: hiddenModel,
  [`GET ${ONE_MODEL}/overview`]: hiddenModel,
  [`GET ${ONE_MODEL}/examples`]: hiddenModel,
  [`POST ${ONE_MODEL}/examples`]: {
    audience: "owner",
    role: "developer",
    parameters: newPinnable,
    form: ({ prediction_id = "" }) => ({ prediction_id }),
  },
  [`POST ${ONE_MODEL}/examples/:example/unpin`]: ownExample,
  [`POST ${ONE_MODEL}/examples/:example/up`]: ownExample,
  [`POST ${ONE_MODEL}/examples/:example/cover`]: ownExample,
  [`GET ${ONE_MODEL}/versions`]: hiddenModel,
  [`GET ${ONE_MODEL}/versions/${NUMBER}`]: hiddenModel,
  [`GET ${ONE_MODEL}/api`]: hiddenModel,
  [`GET ${ONE_MODEL}/settings`]: ownModel,
  [`POST ${ONE_MODEL}/settings`]: {
    ...ownModel,
    form: ({ name = "" }) => ({ ...MODEL, name, description: "changed" }),
  },
  [`POST ${ONE_MODEL}/collaborators`]: {
    ...ownModel,
    role: "admin",
    parameters: newSharing,
    publicParameters: newShownSharing,
    form: ({ other = "" }) => ({ account: other, level: "write" }),
  },
  [`POST ${ONE_MODEL}/collaborators/:account/remove`]: {
    ...ownModel,
    role: "admin",
    parameters: newSharing,
    publicParameters: newShownSharing,
  },
  [`POST ${ONE_MODEL}/delete`]: { ...ownModel, form: ({ name = "" }) => ({ typed_name: name }) },
  [`GET ${ONE_MODEL}/versions/new`]: ownModel,
  [`POST ${ONE_MODEL}/versions/new`]: {
    ...ownModel,
    form: () => ({ container_image_digest: DIGEST, input: "{}", output: "{}" }),
  },
  [`POST ${ONE_MODEL}/versions/${NUMBER}/prices`]: { ...ownModel, form: () => ({ per_run: "1" }) },
  [`POST ${ONE_MODEL}/versions/${NUMBER}/default`]: ownModel,
  [`POST ${ONE_MODEL}/versions/${NUMBER}/delete`]: ownModel,
  [`POST ${ONE_MODEL}/images/remove`]: {
    audience: "owner",
    role: "developer",
    parameters: newPushed,
    publicParameters: newShownPushed,
    form: () => ({ reference: "latest" }),
  },

  [`GET ${ONE_MODEL}/variables`]: ownModel,
  [`GET ${ONE_MODEL}/metrics`]: ownModel,
  [`POST ${ONE_MODEL}/variables`]: { ...ownModel, form: () => VARIABLE },
  [`POST ${ONE_MODEL}/variables/:variable/delete`]: {
    audience: "owner",
    role: "developer",
    parameters: newVariable,
    publicParameters: newShownVariable,
  },
  [`GET ${ONE_MODEL}/runs`]: { audience: "owner", parameters: newVersion },
  [`POST ${ONE_MODEL}`]: {
    audience: "owner",
    parameters: newVersion,
    form: () => ({ json: "{}" }),
  },

  "POST /uploads": { ...each, status: 200, json: () => ({ size: 2, mime_type: "text/plain" }) },
  "GET /uploads/:id": { audience: "owner", role: "developer", parameters: newUpload },
  "POST /uploads/:id/complete": {
    audience: "owner",
    role: "developer",
    parameters: newWholeUpload,
    json: ({ etag = "" }) => ({ etags: [etag] }),
    status: 200,
  },
  "POST /uploads/:id/cancel": {
    audience: "owner",
    role: "developer",
    parameters: newUpload,
    json: () => ({}),
    status: 200,
  },

  ...FLEET_ROUTES,

  "GET /predictions": each,
  [`GET ${RUN}`]: ownRun,
  [`GET ${RUN}/view`]: ownRun,
  [`GET ${RUN}/why`]: ownRun,
  [`GET ${RUN}/events`]: ownRun,
  [`GET ${RUN}/json`]: ownRun,
  [`GET ${RUN}/logs.txt`]: ownRun,
  [`GET ${RUN}/output.txt`]: ownRun,
  [`GET ${RUN}/output.json`]: ownRun,
  [`POST ${RUN}/cancel`]: { audience: "owner", role: "developer", parameters: newRun },
  [`POST ${RUN}/retry`]: ownRun,
  [`POST ${RUN}/delete`]: ownRun,
  [`POST ${RUN}/share`]: { ...ownRun, status: 200, form: () => ({ days: "7" }) },
  [`GET ${RUN}/webhooks/:event_id`]: ownRun,
  [`POST ${RUN}/webhooks/:event_id/redeliver`]: {
    ...ownRun,
    form: () => ({ receiver: "" }),
    readState: webhooksOf,
  },
};

/** The routes that an organization has like every account, by those of one's own account. */
export const ORGANIZATION_ROUTES: [key: string, own: string, route: DashboardRoute][] =
  Object.entries(DASHBOARD_ROUTES).flatMap(([own, route]) => {
    const [method, path = ""] = own.split(" ");
    const address = addressIn(ORGANIZATION, path);
    const isOfPerson = /^\/(?:tokens|account\/delete)\b/.test(path) || address === path;
    return isOfPerson ? [] : [[`${method} ${address}`, own, route]];
  });

/** The routes that only organizations have. */
export const MEMBER_ROUTES: typeof ORGANIZATION_ROUTES = Object.entries(DASHBOARD_ROUTES).flatMap(
  ([key, route]) =>
    key.includes(ORGANIZATION) ? [[key, key, { ...route, parameters: newPlaceWithin }]] : [],
);
