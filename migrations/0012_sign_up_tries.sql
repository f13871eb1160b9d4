CREATE TABLE `sign_up_tries` (
	`day` text NOT NULL,
	`by` text NOT NULL,
	`tries` integer NOT NULL,
	PRIMARY KEY(`day`, `by`)
);
