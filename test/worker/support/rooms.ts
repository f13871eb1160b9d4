/** Every page and action of the dashboard: who gets something there, and what it takes. */
import { env } from "cloudflare:workers";
import type { Person } from "./people.ts";
import {
  MODEL,
  newAvatar,
  newDrainedRunner,
  newEndedRun,
  newest,
  newHardware,
  newInvitation,
  newOperatorPlace,
  newPasskey,
  newRun,
  newRunnerPlace,
  newSession,
  newShownVariable,
  newShownVersion,
  newStoppedRunner,
  newSuspended,
  newToken,
  newUpload,
  newUserPlace,
  newVariable,
  newVersion,
  newWholeUpload,
  type Place,
  PNG,
  TOKEN,
  VARIABLE,
  webhooksOf,
} from "./places.ts";
import { PASSWORD } from "./visitor.ts";
import { DIGEST, newRunnerToken, unique } from "./world.ts";

type Form = Record<string, string | File>;

export interface Room {
  /** To whom it is open: `each` has one of their own there, of an `owner` are the things it names. */
  of: "everybody" | "each" | "owner" | "operators";
  /** Makes what it names. */
  place?: (person: Person) => Promise<Place>;
  /** The same, of what others may look at, and no more than that. */
  shown?: (person: Person) => Promise<Place>;
  form?: (place: Place, person: Person) => Form;
  /** In place of a form: client code alone asks. */
  json?: (place: Place) => object;
  /** What it answers to whom it is for: 200 for a page, 303 for an action. */
  answers?: number;
  /** What it answers to somebody without a session: 303 to the door for a page, 401 for an action. */
  nobody?: number;
  /** Whose session, or account, it ends: of a person of its own. */
  ends?: true;
  /** An action that changes nothing, or nothing that is kept where tests look. */
  idle?: true;
  /** What it changes that is not in the database. */
  look?: (place: Place, person: Person) => Promise<unknown>;
}

const open: Room = { of: "everybody", nobody: 200 };
const each: Room = { of: "each" };
const operators: Room = { of: "operators" };

const SECURITY = "/account/security";
const ONE_MODEL = "/models/:owner/:name";
const NUMBER = ":number{[1-9][0-9]{0,8}}";
const RUN = "/predictions/:prediction_id";

const ownModel: Room = { of: "owner", place: newVersion, shown: newShownVersion };
/** Of a private one, which is not there for others. */
const hiddenModel: Room = { of: "owner", place: newVersion, nobody: 404 };
const ownRun: Room = { of: "owner", place: newEndedRun };

export const ROOMS: Record<string, Room> = {
  "GET /": open,
  "GET /sign-in": { ...open, answers: 303 },
  "POST /sign-in": { ...open, form: (_, { email }) => ({ email, password: PASSWORD, next: "/" }) },
  "POST /sign-in/github": { ...open, answers: 404 },
  "GET /sign-up": open,
  "POST /sign-up": {
    ...open,
    form: () => {
      const username = unique("bob");
      return { username, name: "", email: `${username}@example.com`, password: PASSWORD };
    },
  },
  // What it says is remembered by the browser alone.
  "POST /sign-up/invitation": {
    ...open,
    idle: true,
    nobody: 303,
    form: () => ({ invitation: "x" }),
  },
  "GET /welcome": { of: "everybody", nobody: 303, answers: 303 },
  "POST /welcome": { ...open, idle: true },
  "GET /set-up": open,
  "POST /set-up": { ...open, ends: true, form: () => ({ operator_token: env.OPERATOR_TOKEN }) },
  "POST /sign-out": { ...open, ends: true },

  "GET /users": operators,
  "POST /users/invitations": {
    ...operators,
    answers: 200,
    form: () => ({ note: "Grace", username: "" }),
  },
  "POST /users/invitations/:id/withdraw": { ...operators, place: newInvitation },
  "POST /users/operators/:id/demote": { ...operators, place: newOperatorPlace },
  "POST /users/suspensions": {
    ...operators,
    place: newUserPlace,
    form: ({ username = "" }) => ({ suspend: username }),
  },
  "POST /users/suspensions/:username/end": { ...operators, place: newSuspended },

  [`GET ${SECURITY}`]: each,
  [`POST ${SECURITY}/password`]: {
    ...each,
    ends: true,
    form: () => ({ current: PASSWORD, password: "another long password" }),
  },
  [`POST ${SECURITY}/passkeys/:id/remove`]: { of: "owner", place: newPasskey },
  [`POST ${SECURITY}/sessions/:id/end`]: { of: "owner", place: newSession },
  [`POST ${SECURITY}/sessions/end`]: { ...each, ends: true },
  [`POST ${SECURITY}/recoveries/read`]: { ...each, idle: true, form: () => ({ until: "0" }) },

  "GET /tokens": each,
  "POST /tokens": { ...each, answers: 200, form: () => TOKEN },
  "POST /tokens/:id/revoke": { of: "owner", place: newToken },

  "GET /account": each,
  "POST /account": {
    ...each,
    form: (_, { username }) => ({ username, name: unique("Ada") }),
  },
  "POST /account/avatar": { ...each, form: () => ({ avatar: PNG }) },
  "POST /account/avatar/remove": { ...each, place: newAvatar },
  "GET /account/usage": each,
  "GET /account/delete": each,
  "POST /account/delete": {
    ...each,
    ends: true,
    form: (_, { username }) => ({ username, password: PASSWORD }),
  },

  "GET /models": open,
  "GET /models/new": each,
  "POST /models/new": { ...each, form: () => ({ ...MODEL, name: unique("model") }) },
  [`GET ${ONE_MODEL}`]: hiddenModel,
  [`GET ${ONE_MODEL}/versions`]: hiddenModel,
  [`GET ${ONE_MODEL}/versions/${NUMBER}`]: hiddenModel,
  [`GET ${ONE_MODEL}/api`]: hiddenModel,
  [`GET ${ONE_MODEL}/settings`]: ownModel,
  [`POST ${ONE_MODEL}/settings`]: {
    ...ownModel,
    form: ({ name = "" }) => ({ ...MODEL, name, description: "changed" }),
  },
  [`POST ${ONE_MODEL}/delete`]: { ...ownModel, form: ({ name = "" }) => ({ typed_name: name }) },
  [`GET ${ONE_MODEL}/versions/new`]: ownModel,
  [`POST ${ONE_MODEL}/versions/new`]: {
    ...ownModel,
    form: () => ({ container_image_digest: DIGEST, input: "{}", output: "{}" }),
  },
  [`POST ${ONE_MODEL}/versions/${NUMBER}/delete`]: ownModel,

  [`GET ${ONE_MODEL}/variables`]: ownModel,
  [`POST ${ONE_MODEL}/variables`]: { ...ownModel, form: () => VARIABLE },
  [`POST ${ONE_MODEL}/variables/:variable/delete`]: {
    of: "owner",
    place: newVariable,
    shown: newShownVariable,
  },
  [`GET ${ONE_MODEL}/playground`]: { of: "owner", place: newVersion },
  [`POST ${ONE_MODEL}/playground`]: {
    of: "owner",
    place: newVersion,
    form: () => ({ json: "{}" }),
  },

  "POST /uploads": { ...each, answers: 200, json: () => ({ size: 2, mime_type: "text/plain" }) },
  "GET /uploads/:id": { of: "owner", place: newUpload },
  "POST /uploads/:id/complete": {
    of: "owner",
    place: newWholeUpload,
    json: ({ etag = "" }) => ({ etags: [etag] }),
    answers: 200,
  },
  "POST /uploads/:id/cancel": { of: "owner", place: newUpload, json: () => ({}), answers: 200 },

  "GET /fleet": operators,
  "POST /fleet/runners/:id/drain": { ...operators, place: newRunnerPlace },
  "POST /fleet/runners/:id/resume": { ...operators, place: newDrainedRunner },
  "POST /fleet/runners/:id/remove": { ...operators, place: newStoppedRunner },
  "GET /fleet/tokens": operators,
  "POST /fleet/tokens": {
    ...operators,
    answers: 200,
    form: () => ({ name: "rack", hardware: "cpu" }),
  },
  "POST /fleet/tokens/:id/revoke": {
    ...operators,
    place: () => newRunnerToken("cpu").then(() => newest("runner_tokens")),
  },
  "GET /fleet/hardware": operators,
  "POST /fleet/hardware": {
    ...operators,
    form: () => ({ identifier: unique("hw"), name: "Box" }),
  },
  "GET /fleet/hardware/:identifier": { ...operators, place: newHardware },
  "POST /fleet/hardware/:identifier": {
    ...operators,
    place: newHardware,
    form: () => ({ name: "Another box" }),
  },
  "POST /fleet/hardware/:identifier/delete": { ...operators, place: newHardware },

  "GET /predictions": each,
  [`GET ${RUN}`]: ownRun,
  [`GET ${RUN}/view`]: ownRun,
  [`GET ${RUN}/events`]: ownRun,
  [`GET ${RUN}/json`]: ownRun,
  [`POST ${RUN}/cancel`]: { of: "owner", place: newRun },
  [`POST ${RUN}/retry`]: ownRun,
  [`POST ${RUN}/delete`]: ownRun,
  [`POST ${RUN}/webhooks/:event_id/redeliver`]: {
    ...ownRun,
    form: () => ({ receiver: "" }),
    look: webhooksOf,
  },
};
