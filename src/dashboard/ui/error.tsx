/** The error page, and the page of suspended accounts. */
import type { ProblemError } from "../../errors/errors.ts";

export const ErrorPage = ({
  title,
  problem,
  requestId,
  back,
}: {
  title: string;
  problem: ProblemError | undefined;
  requestId: string;
  /** Address of the page that the reader came from. */
  back: string | undefined;
}) => (
  <div class="box empty">
    <h1>{title}</h1>
    <p>
      {problem?.message ??
        "Something went wrong on our end. Try again. If it keeps happening, give an operator this request ID:"}
    </p>
    {!problem && (
      <p>
        <code>{requestId}</code>
      </p>
    )}
    <p>
      {back !== undefined && problem?.code !== "unauthenticated" && (
        <>
          <a href={back}>Back</a>{" "}
        </>
      )}
      {problem?.code === "unauthenticated" ? <a href="/sign-in">Log in</a> : <a href="/">Home</a>}
    </p>
  </div>
);

/** Shown once for each login: the session is over. */
export const SuspendedPage = () => (
  <div class="box empty">
    <h1>This account is suspended</h1>
    <p>
      An operator of this deployment has suspended it. You cannot log in, its access tokens are
      refused, and its unfinished predictions are canceled.
    </p>
    <p>
      Nothing is deleted: once an operator restores it, you log in as before, and your tokens work
      again. Ask whoever gave you access to this deployment why.
    </p>
    <p>
      <a href="/">Home</a>
    </p>
  </div>
);
