/** Commands that publish a model, to paste into a terminal, with the reader's own names. */

export interface PublishNames {
  origin: string;
  username: string;
  name: string;
  /** Undefined: none has been made yet. */
  token: string | undefined;
  isFirst: boolean;
}

const NO_TOKEN = "aus_…";

const referenceOf = ({ username, name }: PublishNames) => `${username}/${name}`;

/** Returns the repository that clients push to and pull from. It has no scheme. */
export const repositoryAt = (origin: string, owner: string, name: string): string =>
  `${new URL(origin).host}/${owner}/${name}`;

const repositoryOf = ({ origin, username, name }: PublishNames) =>
  repositoryAt(origin, username, name);

/**
 * Returns the lines that publish with `auspex`. The token is not in its arguments, which other processes see.
 * The lines are one command for the shell: lines pasted after it would answer a question that it asks.
 */
export const commandText = (names: PublishNames): string => {
  const { origin, name, token = NO_TOKEN, isFirst } = names;
  const model = referenceOf(names);
  const install = [
    `npm install --global ${origin}/auspex.tgz`,
    `auspex login ${origin} <<< ${token}`,
  ];
  const publish = isFirst
    ? [
        `auspex init ${name} --template node`,
        `auspex publish ${name}`,
        `auspex run ${model} name=Ada times=3`,
      ]
    : [`auspex publish --model ${model}`];
  return [...install, ...publish].join(" &&\n  ");
};

/** Returns the commands for a login that docker and Cog use for pushing. */
const loginText = ({ origin, username, token = NO_TOKEN }: PublishNames) =>
  `export AUSPEX_TOKEN=${token}
docker login ${new URL(origin).host} --username ${username} --password-stdin <<< "$AUSPEX_TOKEN"`;

export const dockerText = (names: PublishNames): string => `${loginText(names)}
docker build --platform linux/amd64 --tag ${repositoryOf(names)} .
${pushText(names)}`;

/** Commands for an image that Docker has already: no runner runs it until a version is made of it. */
export const imageText = (names: PublishNames): string => `${loginText(names)}
docker tag my-image ${repositoryOf(names)}
docker push ${repositoryOf(names)}`;

/** Commands for users who have logged in and have AUSPEX_TOKEN set. */
export const pushText = (names: PublishNames): string => `docker push ${repositoryOf(names)}
${createText(names)}`;

/**
 * Cog's own uploader sends large layers in chunks. Its threshold for that, 128 MiB, lies above
 * what Cloudflare takes in one request on most plans, 100 MB.
 */
export const cogText = (names: PublishNames): string =>
  `${loginText(names)}
COG_PUSH_OCI=1 COG_PUSH_MULTIPART_THRESHOLD=67108864 \\
  cog push ${repositoryOf(names)}
${createText(names)}`;

const createText = (names: PublishNames) =>
  `curl ${names.origin}/v1/models/${referenceOf(names)}/versions \\
  -H "Authorization: Bearer $AUSPEX_TOKEN" \\
  -H 'Content-Type: application/json' \\
  -d '{"release_notes": "${names.isFirst ? "First version" : "What is new"}", "image": "latest"}'`;
