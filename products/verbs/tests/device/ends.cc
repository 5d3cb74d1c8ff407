// How threads of C++ end, and how they wait. Case K says which.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <future>
#include <mowgli.h>
#include <mutex>
#include <pthread.h>
#include <thread>

static std::atomic<int> n;

#if K == 1 // pthread_exit runs destructors in all frames, and then those of variables of the thread
struct adds { int by = 0; ~adds() { n += by; } };
static thread_local adds first, second;
static std::mutex m;
static void leaves(int early)
{
	adds here{100};
	std::lock_guard<std::mutex> guard(m);
	if (early) pthread_exit(nullptr);
}
int main()
{
	std::thread t([] { first.by = 1; second.by = 10; leaves(1); }), u([] { first.by = 2; leaves(0); });
	t.join();
	u.join();
	mowgli_outcome("n", n);
}
#elif K == 2 // exceptions pass libc: the second call begins again
static std::once_flag flag;
static int compares(const void *, const void *) { throw 5; }
static void *throws(void *none)
{
	int two[2] = {2, 1}, caught = 0;
	for (int i = 0; i < 2; i++)
		try { std::call_once(flag, [] { if (n++ == 0) throw 1; }); } catch (int e) { caught += e; }
	try { qsort(two, 2, sizeof *two, compares); } catch (int e) { caught += e; }
	mowgli_outcome("n", 10 * n + caught);
	return none;
}
int main() { mowgli_node(1, throws, nullptr); mowgli_join(); }
#elif K == 3 // a wait with a time may be over before
static std::mutex m;
static std::condition_variable c;
static bool flag;
int main()
{
	std::thread t([] { std::lock_guard<std::mutex> guard(m); flag = true; c.notify_one(); });
	std::unique_lock<std::mutex> lock(m);
	mowgli_outcome("n", c.wait_for(lock, std::chrono::seconds(1), [] { return flag; }));
	lock.unlock();
	t.join();
}
#elif K == 4 // std::atomic waits for a futex
int main()
{
	std::thread t([] { n = 1; n.notify_one(); });
	n.wait(0);
	mowgli_outcome("n", n);
	t.join();
}
#elif K == 5 // an exception that another thread throws again
#include <exception>
#include <stdexcept>
static std::exception_ptr thrown;
static std::atomic<int> is_thrown;
int main() {
  std::thread a([] {
    try { throw std::runtime_error("here"); } catch (...) { thrown = std::current_exception(); }
    is_thrown = 1;
  });
  std::thread b([] {
    try { if (is_thrown) std::rethrow_exception(thrown); } catch (std::runtime_error &) { mowgli_outcome("n", 1); }
  });
  a.join();
  b.join();
}
#elif K == 6 // what is thrown is memory of libstdc++
#include <stdexcept>
static volatile int x, y;
struct first {};
struct second {};
int main()
{
	std::thread t([] {
		try { if (x) throw first(); else throw second(); }
		catch (...) {
			int v = y;
			v = 0;
			try { throw; } catch (first &) { mowgli_outcome("n", 1); } catch (second &) { mowgli_outcome("n", 2); }
		}
	});
	std::thread u([] {
		try { throw std::runtime_error(x ? "a" : "b"); }
		catch (const std::exception &e) {
			int v = y;
			v = 0;
			mowgli_outcome("m", e.what()[0] + v);
		}
	});
	std::thread w([] { x = 1; y = 1; });
	t.join();
	u.join();
	w.join();
}
#elif K == 7 // a cast reads the type of an object, which another thread makes
#include <new>
struct base { virtual ~base() {} };
struct part : base { int value = 2; };
alignas(16) static char place[sizeof(part)];
int main()
{
	std::thread t([] { new (place) part; n = 1; });
	std::thread u([] { while (!n) {} part *p = dynamic_cast<part *>((base *)place); mowgli_outcome("n", p ? p->value : 0); });
	t.join();
	u.join();
}
#elif K == 8 // a thread joins what another one starts
static std::thread started;
int main()
{
	std::thread t([] { started = std::thread([] { n += 2; }); n += 1; });
	std::thread u([] { while (!(n & 1)) {} started.join(); mowgli_outcome("n", n + started.joinable()); });
	t.join();
	u.join();
}
#endif
