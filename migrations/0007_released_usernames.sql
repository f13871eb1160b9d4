CREATE TABLE `released_usernames` (
	`username` text PRIMARY KEY NOT NULL,
	`times` integer NOT NULL
);
