/** The most rows of D1 that a request to each route writes (test/worker/api/write-rows.test.ts). */
export const WRITE_ROWS = {
  createModel: 1_000,
  updateModel: 2_000,
  deleteModel: 1_000,
  createVersion: 600,
  deleteVersion: 500,
  setVersionPrices: 20,
  setVariable: 20,
  deleteVariable: 20,
  shareModel: 10,
  changeDeployment: 350,
  pinExample: 50,
  updateExample: 100,
  unpinExample: 50,
  createUpload: 20,
  completeUpload: 20,
  deleteUpload: 20,
  putPart: 1,
  updateOwnUser: 500,
  changeWebhookEndpoint: 50,
  changeBudget: 10,
  /** Any request that changes an organization, its members, invitations or tokens. */
  changeOrganization: 100,
  /** Any request that changes the image registry. */
  pushImage: 50,
} as const;

export type WriteRoute = keyof typeof WRITE_ROWS;

export const FORM_ROWS = Math.max(...Object.values(WRITE_ROWS));

/** The additional rows for each of them. */
export const ROWS_OF = {
  manifestEntry: 5,
  tag: 5,
  /** A part of an upload that is completed or deleted. */
  part: 1,
  version: 5,
  /** A model of an account with a new username: it is indexed again. */
  renamedModel: 15,
  /** An upload that the input of a prediction or an overview names. */
  namedFile: 3,
} as const;
