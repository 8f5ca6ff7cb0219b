/*
 * sessions.cpp - a small server with a memory leak: it forgets the sessions that time out.
 *
 *     sessions [REQUESTS]      answers this many requests (default: 5000)
 *
 * Every request opens a session.  A client that logs out ends it; one of ten clients just disappears.
 */
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

struct Session {
	std::string token;
	std::vector<std::string> pages;
};

class Server {
public:
	std::size_t answer(int client);
	std::string report() const;

private:
	Session *open_session(int client);
	void log_out(int client);
	void time_out(int client);

	std::map<int, Session *> sessions;
};

Session *Server::open_session(int client)
{
	Session *session = new Session;

	session->token = "token-of-client-" + std::to_string(1000000 + client);
	return sessions[client] = session;
}

void Server::log_out(int client)
{
	delete sessions[client];
	sessions.erase(client);
}

void Server::time_out(int client)
{
	sessions.erase(client); /* the leak: without delete */
}

std::size_t Server::answer(int client)
{
	Session *session = open_session(client);

	for (const char *page : { "/index.html", "/news/today.html", "/account/settings.html" })
		session->pages.push_back("https://www.example.org" + std::string(page));

	std::size_t count = session->pages.size();
	if (client % 10 == 0)
		time_out(client);
	else
		log_out(client);
	return count;
}

/* Needs much memory for a moment. */
std::string Server::report() const
{
	std::string text;

	for (int line = 0; line < 4000; line++)
		text += "one line of the report of the day, number " + std::to_string(line) + "\n";
	return text;
}

int main(int argc, char **argv)
{
	int requests = argc > 1 ? std::atoi(argv[1]) : 5000;
	std::size_t pages = 0;
	Server server;

	for (int client = 1; client <= requests; client++)
		pages += server.answer(client);
	std::printf("%d requests, %zu pages, %zu bytes of report\n", requests, pages, server.report().size());
	return 0;
}
